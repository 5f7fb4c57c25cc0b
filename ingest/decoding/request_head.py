"""What a request's head says: who sends, how the body is packed, what enrichment needs."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qs

from msgspec import Struct
from starlette.types import Scope

from schemas.envelope import COUNTRY_HEADER, ENRICHMENT_HEADERS
from schemas.errors import Malformed
from schemas.http.asgi import headers_by_name
from schemas.http.auth import read_api_key
from schemas.http.middleware import COUNTRY_KEY

MAX_USER_AGENT_LENGTH = 512
MAX_REQUEST_ID_LENGTH = 256
MAX_HEADER_LENGTH = 512
"""Characters that are kept; far below what lets 500 envelopes outgrow one Kafka message."""

CLIENT_ID_HEADERS = (b"databuddy-client-id", b"tidemark-client-id")
CACHED_QUERY_LENGTH = 256
"""Characters; longer ones hold a whole item, and none of them comes twice."""

KEPT_HEADERS = tuple((name.encode(), name) for name in ENRICHMENT_HEADERS)


class RequestHead(Struct, frozen=True, gc=False):
    """The part of a request's head that the collector uses."""

    key: str | None
    website_id: str | None
    encoding: str
    user_agent: str
    headers: dict[str, str]
    """Those of HEADERS that are there, cut to HEADER characters; COUNTRY when it was told."""
    request_id: str


def read_request_head(scope: Scope) -> RequestHead:
    """The head of a request; Malformed when its `Idempotency-Key` is too long."""
    given = headers_by_name(scope)
    kept = {
        name: str(given[key][:MAX_HEADER_LENGTH], "latin-1")
        for key, name in KEPT_HEADERS
        if key in given
    }
    if country := scope.get(COUNTRY_KEY):
        kept[COUNTRY_HEADER] = country[:MAX_HEADER_LENGTH]
    return RequestHead(
        _key(given),
        website_outside_body(scope["query_string"], given),
        str(given.get(b"content-encoding", b""), "latin-1").strip().lower(),
        str(given.get(b"user-agent", b"")[:MAX_USER_AGENT_LENGTH], "latin-1"),
        kept,
        _request_id(given),
    )


def website_outside_body(query: bytes, given: Mapping[bytes, bytes]) -> str | None:
    """The website that a request names outside its body."""
    return website_id(query) or _client_id(given)


def website_id(query: bytes) -> str | None:
    """The website that the query string names."""
    return _cached_website_id(query) if len(query) <= CACHED_QUERY_LENGTH else _website_id(query)


def _website_id(query: bytes) -> str | None:
    fields = parse_qs(query.decode("latin-1"))
    for name in ("website_id", "client_id"):
        if name in fields:
            return fields[name][0]
    return None


_cached_website_id = lru_cache(maxsize=8192)(_website_id)


def _key(given: dict[bytes, bytes]) -> str | None:
    if b"x-api-key" not in given and b"authorization" not in given:
        return None
    return read_api_key(lambda name: str(given.get(name.encode(), b""), "latin-1") or None)


def _client_id(given: Mapping[bytes, bytes]) -> str | None:
    for name in CLIENT_ID_HEADERS:
        if name in given:
            return str(given[name], "latin-1") or None
    return None


def _request_id(given: dict[bytes, bytes]) -> str:
    if b"idempotency-key" not in given:
        return ""
    text = given[b"idempotency-key"]
    if len(text) > MAX_REQUEST_ID_LENGTH:
        raise Malformed(f"'Idempotency-Key' may have at most {MAX_REQUEST_ID_LENGTH} characters")
    return str(text, "latin-1")
