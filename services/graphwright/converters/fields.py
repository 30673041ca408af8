"""What every converter shares: faults that carry the path of the field, presence and enums."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import wraps
from typing import Generic, TypeVar

from google.protobuf.message import Message
from pydantic import ValidationError

P = TypeVar("P")
D = TypeVar("D")
E = TypeVar("E", bound=StrEnum)
V = TypeVar("V", bound=int)


class InvalidField(ValueError):
    """A message whose content is refused: `field` is a path such as `spec.budget.limit`."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason

    def within(self, outer: str) -> "InvalidField":
        """The same fault as seen from the message that holds the field `outer`."""
        return InvalidField(f"{outer}.{self.field}" if self.field else outer, self.reason)


def decoder(decode: Callable[[P], D]) -> Callable[[P], D]:
    """Turn pydantic's first complaint about what `decode` builds into InvalidField."""

    @wraps(decode)
    def checked(message: P) -> D:
        try:
            return decode(message)
        except ValidationError as error:
            raise _first_fault(error) from error

    return checked


def _first_fault(error: ValidationError) -> InvalidField:
    fault = error.errors(include_url=False)[0]
    reason = fault["msg"].removeprefix("Value error, ")
    return InvalidField(".".join(map(str, fault["loc"])), reason)


def required(message: Message, field: str, decode: Callable[[P], D]) -> D:
    """Decode a message field that must be there.

    Raises:
        InvalidField: it is absent or its content is refused.
    """
    if not message.HasField(field):
        raise InvalidField(field, "is required")
    return _inside(field, decode, getattr(message, field))


def optional(message: Message, field: str, decode: Callable[[P], D]) -> D | None:
    """Decode a message field, or None if it is absent.

    Raises:
        InvalidField: its content is refused.
    """
    return required(message, field, decode) if message.HasField(field) else None


def each(field: str, messages: Iterable[P], decode: Callable[[P], D]) -> tuple[D, ...]:
    """Decode a repeated field; a fault names the index, as in `outcomes.3.score`."""
    return tuple(
        _inside(f"{field}.{index}", decode, message) for index, message in enumerate(messages)
    )


def stated(message: Message, field: str) -> str:
    """A text that must not be empty.

    Raises:
        InvalidField: it is.
    """
    text: str = getattr(message, field)
    if not text:
        raise InvalidField(field, "must not be empty")
    return text


def present(message: Message, fields: Iterable[str]) -> dict[str, object]:
    """The values of those optional fields that were sent."""
    return {field: getattr(message, field) for field in fields if message.HasField(field)}


def _inside(field: str, decode: Callable[[P], D], message: P) -> D:
    try:
        return decode(message)
    except InvalidField as fault:
        raise fault.within(field) from fault


class Labels(Generic[E, V]):
    """A one-to-one pairing of a domain enum with a protobuf enum.

    Zero (UNSPECIFIED) and numbers that this version does not know have no partner.
    """

    def __init__(self, pairs: Mapping[E, V]) -> None:
        self._encoded = dict(pairs)
        self._decoded = {number: label for label, number in pairs.items()}

    def encode(self, label: E) -> V:
        """The number of a label."""
        return self._encoded[label]

    def decode(self, field: str, number: V) -> E:
        """The label of the number that `field` holds.

        Raises:
            InvalidField: the number is 0 (unspecified) or unknown.
        """
        label = self._decoded.get(number)
        if label is None:
            known = ", ".join(self._encoded)
            raise InvalidField(field, f"must be one of {known}, not enum number {number}")
        return label
