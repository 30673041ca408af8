"""Large messages: what does not fit a NATS message travels through an object store."""

import asyncio
from collections.abc import Mapping

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from nats.js.object_store import ObjectStore

from graphwright.bus.port import BusError
from graphwright.converters.wire import UndecodableMessage

KIB = 1024
LARGEST_INLINE = 512 * KIB
LARGEST = 8 * KIB * KIB
READ_SECONDS = 20.0
BLOB = "Graphwright-Blob"


class MessageTooLarge(BusError):
    """A message beyond what the bus carries; sizes in bytes. Send fewer graphs or questions."""

    def __init__(self, kind: str, size: int) -> None:
        super().__init__(f"a {kind} of {size} bytes is over the limit of {LARGEST} bytes")
        self.kind = kind
        self.size = size
        self.limit = LARGEST


class Blobs:
    """Puts large payloads aside and brings them back; a header names what was put aside."""

    def __init__(self, js: JetStreamContext, bucket: str) -> None:
        self._store = ObjectStore(name=bucket, stream=f"OBJ_{bucket}", js=js)

    async def pack(self, kind: str, name: str, data: bytes) -> tuple[bytes, dict[str, str]]:
        """What to send instead of `data`, and the headers to send with it.

        Raises:
            MessageTooLarge: over 8 MiB.
        """
        if len(data) > LARGEST:
            raise MessageTooLarge(kind, len(data))
        if len(data) <= LARGEST_INLINE:
            return data, {}
        await self._store.put(name, data)
        return b"", {BLOB: name}

    async def unpack(self, kind: str, data: bytes, headers: Mapping[str, str]) -> bytes:
        """The payload that was packed.

        Raises:
            UndecodableMessage: it was put aside and is gone.
            TimeoutError: it cannot be read at the moment.
        """
        name = headers.get(BLOB)
        if name is None:
            return data
        try:
            # Reading an object that is being deleted would wait for its missing parts for ever.
            async with asyncio.timeout(READ_SECONDS):
                found = await self._store.get(name)
        except NotFoundError as error:
            raise UndecodableMessage(kind, f"its payload {name} is gone") from error
        return found.data or b""

    async def discard(self, headers: Mapping[str, str]) -> None:
        """Delete what was put aside, if anything."""
        name = headers.get(BLOB)
        if name is None:
            return
        try:
            await self._store.delete(name)
        except NotFoundError:
            return
