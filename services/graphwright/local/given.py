"""Servers of one's own, named by URLs in the environment: do they answer at all?"""

import asyncio
import re
from collections.abc import Iterable

from graphwright.local.errors import ServerUnreachable
from graphwright.local.probes import accepts

_CREDENTIALS = re.compile(r"//[^@/]*@")
_ADDRESS = re.compile(r"(?:\w+://)?(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+):(?P<port>\d{1,5})")


async def check(variable: str, url: str) -> None:
    """Find out in a moment what the services would take half a minute to notice.

    A URL without host:port (a DNS seed list, say) is taken on trust.

    Raises:
        ServerUnreachable: none of the addresses in the URL accepts connections.
    """
    found = addresses(url)
    answers = await asyncio.gather(*(accepts(port, host) for host, port in found))
    if found and not any(answers):
        raise ServerUnreachable(variable, _named(found))


def addresses(url: str) -> list[tuple[str, int]]:
    """Every host:port in the URL of a server or of a cluster of servers."""
    authority = _CREDENTIALS.sub("//", url).partition("/?")[0]
    matches = (_ADDRESS.match(part) for part in authority.split(","))
    return [(m["host"].strip("[]"), int(m["port"])) for m in matches if m]


def masked(url: str) -> str:
    """The URL as it may be shown: without user and password."""
    return _CREDENTIALS.sub("//***@", url)


def _named(found: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{host}:{port}" for host, port in found)
