"""Messages that ran out of deliveries without an answer, because their consumers crashed.

The server only says so in an advisory and leaves the message in its work queue, delivered to
nobody. The advisories are kept in a work queue of their own, so that none is lost while no process
runs, and every connected bus works on it.
"""

import json

from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import NotFoundError

from graphwright.bus.nats_dead import KIND, DeadLetters
from graphwright.bus.nats_handling import Observe

UNDERTAKER = ConsumerConfig(
    name="undertaker",
    durable_name="undertaker",
    ack_policy=AckPolicy.EXPLICIT,
    ack_wait=30,
    max_ack_pending=64,
    max_waiting=2048,
)


class Undertaker:
    """Moves exhausted messages to the dead letters."""

    def __init__(self, js: JetStreamContext, dead: DeadLetters, observe: Observe) -> None:
        self._js = js
        self._dead = dead
        self._observe = observe

    async def process(self, advisory: Msg) -> None:
        """Bury the message that an advisory names, unless it is gone by now."""
        said = json.loads(advisory.data)
        stream, sequence, deliveries = said["stream"], said["stream_seq"], said["deliveries"]
        try:
            message = await self._js.get_msg(stream, sequence)
        except NotFoundError:
            await advisory.ack_sync()
            return
        headers = message.headers or {}
        await self._dead.copy(
            subject=message.subject or "",
            data=message.data or b"",
            headers=headers,
            reason=f"delivered {deliveries} times without an answer",
            deliveries=deliveries,
            message_id=f"dead:{stream}:{sequence}",
        )
        await self._js.delete_msg(stream, sequence)
        await advisory.ack_sync()
        self._observe(headers.get(KIND, "unknown"), "exhausted")
