"""Removing what is left of one search from a work queue."""

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from graphwright.bus.nats_blobs import Blobs
from graphwright.bus.nats_dead import SEARCH
from graphwright.bus.nats_streams import Route


async def sweep(js: JetStreamContext, blobs: Blobs, route: Route, search_id: str) -> None:
    """Delete a search's messages that were on a route when the sweep began.

    Two of the three work queues have one subject for all searches, so that messages are told
    apart by their header; a queue holds no more than a few batches of each running search.
    """
    info = await js.stream_info(route.stream)
    sequence = info.state.first_seq
    while sequence <= info.state.last_seq:
        try:
            message = await js.get_msg(route.stream, seq=sequence, subject=route.subject, next=True)
        except NotFoundError:
            return
        headers = message.headers or {}
        if message.seq is None:
            return
        if headers.get(SEARCH) == search_id:
            await _delete(js, route.stream, message.seq)
            await blobs.discard(headers)
        sequence = message.seq + 1


async def _delete(js: JetStreamContext, stream: str, sequence: int) -> None:
    try:
        await js.delete_msg(stream, sequence)
    except NotFoundError:
        # Acknowledged in the meantime.
        return
