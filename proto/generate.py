"""Generates `graphwright.contracts` from the .proto files beside it.

python proto/generate.py            regenerate what is committed
python proto/generate.py --check    name the files that differ from it, exit 1 if there are any
python proto/generate.py --freeze   make today's contract the one that must stay compatible
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet, ServiceDescriptorProto

PROTO = Path(__file__).resolve().parent
SERVICES = PROTO.parent / "services"
PACKAGE = Path("graphwright/contracts/v1")
FROZEN = PROTO.parent / "tests" / "golden" / "contracts_v1.binpb"


class GenerationFailed(Exception):
    """The protobuf compiler refused the files; it has printed why."""

    def __init__(self, status: int) -> None:
        super().__init__(f"protoc ended with status {status}")
        self.status = status


def generate(into: Path) -> None:
    """Write the messages, their type stubs and the gRPC stubs below `into`.

    Raises:
        GenerationFailed: a .proto file is wrong.
    """
    (into / PACKAGE).mkdir(parents=True, exist_ok=True)
    _protoc([f"--python_out={into}", f"--pyi_out={into}"], _sources())
    contracts = descriptor_set()
    for file in contracts.file:
        if file.service:
            _protoc([f"--grpc_python_out={into}"], [file.name])
            stub = into / file.name.replace(".proto", "_pb2_grpc.pyi")
            stub.write_text(_grpc_stub(Path(file.name).stem, file.service))


def descriptor_set() -> FileDescriptorSet:
    """The descriptors of every .proto file here, without comments and without imported files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contracts.binpb"
        _protoc([f"--descriptor_set_out={path}"], _sources())
        return FileDescriptorSet.FromString(path.read_bytes())


def drift() -> list[str]:
    """Names of generated files that are missing, superfluous or different."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh, kept = _contents(Path(folder)), _contents(SERVICES)
    return sorted(name for name in fresh | kept if fresh.get(name) != kept.get(name))


def _contents(root: Path) -> dict[str, bytes]:
    generated = root.glob(f"{PACKAGE}/*_pb2*.py*")
    return {str(path.relative_to(root)): path.read_bytes() for path in generated}


def _sources() -> list[str]:
    return sorted(str(path.relative_to(PROTO)) for path in (PROTO / PACKAGE).glob("*.proto"))


def _protoc(outputs: list[str], sources: list[str]) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", *outputs, *sources]
    status = subprocess.run(command, check=False).returncode
    if status:
        raise GenerationFailed(status)


def _grpc_stub(stem: str, services: Iterable[ServiceDescriptorProto]) -> str:
    # protoc types the messages but not the gRPC classes; without this every call is untyped.
    lines = [
        '"""Types of the gRPC stubs, for grpc.aio."""',
        "",
        "from collections.abc import AsyncIterator",
        "",
        "import grpc",
        "import grpc.aio",
        "",
        f"from {'.'.join(PACKAGE.parts)} import {stem}_pb2 as pb",
    ]
    for service in services:
        lines += ["", *_client(service), "", *_servicer(service), "", *_registration(service)]
    return "\n".join(lines) + "\n"


def _client(service: ServiceDescriptorProto) -> list[str]:
    lines = [
        f"class {service.name}Stub:",
        "    def __init__(self, channel: grpc.aio.Channel) -> None: ...",
    ]
    for rpc in service.method:
        shape = "UnaryStream" if rpc.server_streaming else "UnaryUnary"
        types = f"pb.{_name(rpc.input_type)}, pb.{_name(rpc.output_type)}"
        lines.append(f"    {rpc.name}: grpc.aio.{shape}MultiCallable[{types}]")
    return lines


def _servicer(service: ServiceDescriptorProto) -> list[str]:
    lines = [f"class {service.name}Servicer:"]
    for rpc in service.method:
        request, response = f"pb.{_name(rpc.input_type)}", f"pb.{_name(rpc.output_type)}"
        define = "def" if rpc.server_streaming else "async def"
        answer = f"AsyncIterator[{response}]" if rpc.server_streaming else response
        lines += [
            f"    {define} {rpc.name}(",
            f"        self, request: {request},",
            f"        context: grpc.aio.ServicerContext[{request}, {response}],",
            f"    ) -> {answer}: ...",
        ]
    return lines


def _registration(service: ServiceDescriptorProto) -> list[str]:
    name = f"{service.name}Servicer"
    return [f"def add_{name}_to_server(servicer: {name}, server: grpc.aio.Server) -> None: ..."]


def _name(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def main() -> int:
    """Run from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--freeze", action="store_true")
    chosen = parser.parse_args()
    if chosen.check:
        differing = drift()
        sys.stdout.writelines(f"{name} differs from the .proto files\n" for name in differing)
        return 1 if differing else 0
    if chosen.freeze:
        FROZEN.write_bytes(descriptor_set().SerializeToString(deterministic=True))
        return 0
    generate(SERVICES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
