"""Ends a server when the interpreter that started it is gone, however that came about."""

import subprocess
from types import TracebackType
from typing import Self

# Reads process numbers until its input closes, which also a killed interpreter brings about, and
# then ends the group of the last one; an empty line means that nothing is left to end.
_WATCH = 'while read -r pid; do last=$pid; done; [ -z "$last" ] || kill -9 "-$last"'


class Guard:
    """Watches over one process at a time for the duration of a block."""

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def watch(self, pid: int | None) -> None:
        """From here on watch this process (group), or nothing."""
        assert self._shell.stdin is not None  # noqa: S101 - asked for by stdin=PIPE
        self._shell.stdin.write(b"%d\n" % pid if pid else b"\n")
        self._shell.stdin.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._shell.communicate()
