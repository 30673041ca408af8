"""Small questions to a server on the loopback interface: does it answer yet?"""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from graphwright.local.ports import LOOPBACK

ANSWER_SECONDS = 2.0


async def accepts(port: int, host: str = LOOPBACK) -> bool:
    """Whether something accepts connections on this port."""
    return await _exchange(port, b"", 0, host) is not None


async def greets(port: int, greeting: bytes) -> bool:
    """Whether the server on this port opens with these bytes."""
    return await _exchange(port, b"", len(greeting)) == greeting


async def http_ok(url: str) -> bool:
    """Whether GET of a page on the loopback interface is answered with status 200."""
    parts = urlsplit(url)
    request = f"GET {parts.path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode()
    answer = await _exchange(parts.port or 80, request, len(b"HTTP/1.1 200"))
    return answer is not None and answer.endswith(b" 200")


async def _exchange(port: int, request: bytes, length: int, host: str = LOOPBACK) -> bytes | None:
    """Send, then read `length` bytes; None where nobody answers."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(request)
                return await reader.readexactly(length)
            finally:
                writer.close()
    return None
