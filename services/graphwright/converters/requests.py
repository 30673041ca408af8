"""search.proto, the part about requests: those whose content needs more than reading a field."""

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.converters.fields import InvalidField, required, stated
from graphwright.converters.search import STATES, decode_search_spec, encode_search_spec
from graphwright.search.search import SearchState
from graphwright.search.spec import SearchSpec

LONGEST_REQUEST_ID = 128


def encode_submit_search_request(request_id: str, spec: SearchSpec) -> pb.SubmitSearchRequest:
    """Encode the wish for a search."""
    return pb.SubmitSearchRequest(request_id=request_id, spec=encode_search_spec(spec))


def decode_submit_search_request(message: pb.SubmitSearchRequest) -> tuple[str, SearchSpec]:
    """The request id and what to search for.

    Raises:
        InvalidField: with a path from the request down, such as `spec.budget.limit`.
    """
    request_id = stated(message, "request_id")
    if len(request_id) > LONGEST_REQUEST_ID:
        raise InvalidField("request_id", f"must have at most {LONGEST_REQUEST_ID} characters")
    return request_id, required(message, "spec", decode_search_spec)


def decode_state_filter(message: pb.ListSearchesRequest) -> SearchState | None:
    """The state that a listing is narrowed to, if it is. Raises InvalidField."""
    return STATES.decode("state", message.state) if message.HasField("state") else None
