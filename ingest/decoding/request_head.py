"""What a request's head says: who sends, how the body is packed, what enrichment needs."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qs

from msgspec import Struct
from starlette.types import Scope

from schemas.envelope import COUNTRY, HEADERS
from schemas.errors import Malformed
from schemas.http.asgi import headers_by_name
from schemas.http.auth import key_text
from schemas.http.middleware import COUNTRY_TOLD

USER_AGENT = 512
REQUEST_ID = 256
HEADER = 512
"""Characters that are kept; far below what lets 500 envelopes outgrow one Kafka message."""

CLIENT_IDS = (b"databuddy-client-id", b"tidemark-client-id")
USUAL_QUERY = 256
"""Characters; longer ones hold a whole item, and none of them comes twice."""

KEPT = tuple((name.encode(), name) for name in HEADERS)


class Head(Struct, frozen=True, gc=False):
    """The part of a request's head that the collector uses."""

    key: str | None
    website_id: str | None
    encoding: str
    user_agent: str
    headers: dict[str, str]
    """Those of HEADERS that are there, cut to HEADER characters; COUNTRY when it was told."""
    request_id: str


def read_head(scope: Scope) -> Head:
    """The head of a request; Malformed when its `Idempotency-Key` is too long."""
    given = headers_by_name(scope)
    kept = {name: str(given[key][:HEADER], "latin-1") for key, name in KEPT if key in given}
    if country := scope.get(COUNTRY_TOLD):
        kept[COUNTRY] = country[:HEADER]
    return Head(
        _key(given),
        named_website(scope["query_string"], given),
        str(given.get(b"content-encoding", b""), "latin-1").strip().lower(),
        str(given.get(b"user-agent", b"")[:USER_AGENT], "latin-1"),
        kept,
        _request_id(given),
    )


def named_website(query: bytes, given: Mapping[bytes, bytes]) -> str | None:
    """The website that a request names outside its body."""
    return website_id(query) or _client_id(given)


def website_id(query: bytes) -> str | None:
    """The website that the query string names."""
    return _usual_website_id(query) if len(query) <= USUAL_QUERY else _website_id(query)


def _website_id(query: bytes) -> str | None:
    fields = parse_qs(query.decode("latin-1"))
    for name in ("website_id", "client_id"):
        if name in fields:
            return fields[name][0]
    return None


_usual_website_id = lru_cache(maxsize=8192)(_website_id)


def _key(given: dict[bytes, bytes]) -> str | None:
    if b"x-api-key" not in given and b"authorization" not in given:
        return None
    return key_text(lambda name: str(given.get(name.encode(), b""), "latin-1") or None)


def _client_id(given: Mapping[bytes, bytes]) -> str | None:
    for name in CLIENT_IDS:
        if name in given:
            return str(given[name], "latin-1") or None
    return None


def _request_id(given: dict[bytes, bytes]) -> str:
    if b"idempotency-key" not in given:
        return ""
    text = given[b"idempotency-key"]
    if len(text) > REQUEST_ID:
        raise Malformed(f"'Idempotency-Key' may have at most {REQUEST_ID} characters")
    return str(text, "latin-1")
