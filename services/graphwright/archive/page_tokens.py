"""Page tokens: opaque to clients, the key of the last row for us.

Paging by key and not by offset keeps a listing stable: rows that arrive between two pages neither
repeat nor hide the others.
"""

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from graphwright.archive.port import InvalidPageToken


def encode_token(listing: str, key: Sequence[str]) -> str:
    """`listing` names the listing with its filters; its tokens fit no other."""
    return urlsafe_b64encode(json.dumps([listing, *key]).encode()).decode().rstrip("=")


def decode_token(listing: str, token: str, parts: int) -> list[str]:
    """The key, of so many parts. Raises InvalidPageToken."""
    try:
        padded = token + "=" * (-len(token) % 4)
        content = json.loads(urlsafe_b64decode(padded.encode("ascii")))
        # Encoding catches lone surrogates, which JSON can spell and a database cannot store.
        texts = [part for part in content if isinstance(part, str) and part.encode()]
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise invalid_token(token) from error
    if texts != content or texts[:1] != [listing] or len(texts) != parts + 1:
        raise invalid_token(token)
    return texts[1:]


def invalid_token(token: str) -> InvalidPageToken:
    """The error that quotes a token, cut short."""
    return InvalidPageToken(f"page token {token[:80]!r} does not belong to this listing")
