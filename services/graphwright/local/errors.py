"""What can go wrong with servers on this machine, each a sentence that says what to do.

LocalError
├── PlatformUnsupported   not Linux: processes could not be followed
├── PortTaken             a port that was asked for is in use
├── ServerMissing         no wheel carries this server for this platform
├── ServerUnreachable     a server that the environment names does not answer
├── PocketMissing         the pocket models are not beside this installation
├── StartFailed           a process ended or did not become ready in time
└── StackBusy             another `up` or `down` is at work in the same folder
"""

from pathlib import Path


class LocalError(Exception):
    """Root of the errors of servers on this machine."""


class PlatformUnsupported(LocalError):
    """Processes are followed through /proc, which `platform` does not have."""

    def __init__(self, platform: str) -> None:
        super().__init__(
            f"local processes are managed on Linux alone, not on {platform}:"
            " use infra/docker/compose.yaml"
        )
        self.platform = platform


class PortTaken(LocalError):
    """The port that `option` asks for is in use."""

    def __init__(self, option: str, port: int) -> None:
        super().__init__(
            f"port {port} is taken: stop what listens there or choose another with {option}"
        )
        self.option = option
        self.port = port


class ServerMissing(LocalError):
    """No program for `server` is installed; `variable` names a server to use instead."""

    def __init__(self, server: str, variable: str, reason: str) -> None:
        super().__init__(f"cannot start {server} here ({reason}): set {variable} to use your own")
        self.server = server
        self.variable = variable


class ServerUnreachable(LocalError):
    """The server that `variable` names accepts no connections at `address`."""

    def __init__(self, variable: str, address: str) -> None:
        super().__init__(
            f"{variable} is set, but nothing answers at {address}:"
            f" start that server or unset {variable}"
        )
        self.variable = variable
        self.address = address


class PocketMissing(LocalError):
    """The folder of the pocket models does not exist."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the pocket models are not in {folder}: work from a clone of the repository,"
            " or set TRITON_URL to use your own server"
        )
        self.folder = folder


class StartFailed(LocalError):
    """A process ended at once, or was not ready in time."""

    def __init__(self, name: str, reason: str, log: Path, tail: str) -> None:
        lines = f"; it last said:\n{tail}\n" if tail else ""
        super().__init__(f"{name} did not start ({reason}): see {log}{lines}".rstrip())
        self.name = name
        self.reason = reason
        self.log = log
        self.tail = tail


class StackBusy(LocalError):
    """The folder is locked by another command."""

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"another graphwright up or down is at work in {home}: wait until it is done"
        )
        self.home = home
