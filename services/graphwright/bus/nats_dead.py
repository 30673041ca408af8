"""Dead letters: messages that can never be processed, kept with the reason."""

from collections.abc import AsyncIterator, Mapping

import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext

from graphwright.bus.nats_streams import Layout
from graphwright.bus.port import DeadLetter

KIND = "Graphwright-Kind"
SEARCH = "Graphwright-Search"
BATCH = "Graphwright-Batch"
ATTEMPT = "Graphwright-Attempt"
REASON = "Graphwright-Reason"
SUBJECT = "Graphwright-Subject"
DELIVERIES = "Graphwright-Deliveries"
MESSAGE_ID = "Nats-Msg-Id"
LONGEST_REASON = 2000

log = structlog.get_logger()


class DeadLetters:
    """Copies messages to the dead-letter stream.

    Each copy has the payload and our headers of the original, and says in headers why it died,
    on which subject and after how many deliveries.
    """

    def __init__(self, js: JetStreamContext, layout: Layout) -> None:
        self._js = js
        self._layout = layout

    async def bury(self, message: Msg, reason: str) -> None:
        """Copy a delivered message; the caller ends its deliveries."""
        at = message.metadata
        await self.copy(
            subject=message.subject,
            data=message.data,
            headers=message.headers or {},
            reason=reason,
            deliveries=at.num_delivered,
            message_id=f"dead:{at.stream}:{at.sequence.stream}",
        )

    async def copy(
        self,
        *,
        subject: str,
        data: bytes,
        headers: Mapping[str, str],
        reason: str,
        deliveries: int,
        message_id: str,
    ) -> None:
        """Store a dead letter; the same message id twice is stored once."""
        ours = {name: value for name, value in headers.items() if name.startswith("Graphwright-")}
        rest = subject.removeprefix(self._layout.subject(""))
        log.error("message_dead", subject=subject, reason=reason, deliveries=deliveries)
        await self._js.publish(
            self._layout.dead(ours.get(SEARCH), rest),
            data,
            headers={
                **ours,
                # Headers are read back as ASCII.
                REASON: reason[:LONGEST_REASON].encode("ascii", "backslashreplace").decode(),
                SUBJECT: subject,
                DELIVERIES: str(deliveries),
                MESSAGE_ID: message_id,
            },
        )


async def read_letters(subscription: Subscription) -> AsyncIterator[DeadLetter]:
    """The dead letters that a subscription brings, those of no known batch left out."""
    async for message in subscription.messages:
        headers = message.headers or {}
        if BATCH in headers:
            yield DeadLetter(headers[BATCH], int(headers.get(ATTEMPT, "0")), headers[REASON])
