"""RequestHead: the headers and query parameters that the collector uses."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct
from starlette.types import Scope

from ingest.decoding.ignored_parameters import (
    KNOWN_PARAMETERS,
    WEBSITE_PARAMETER_NAMES,
    IgnoredParameters,
    ignored_parameters,
)
from schemas.envelope import COUNTRY_HEADER, ENRICHMENT_HEADERS
from schemas.errors import Malformed
from schemas.http.asgi import headers_by_name
from schemas.http.auth import read_api_key
from schemas.http.middleware import COUNTRY_KEY

MAX_USER_AGENT_LENGTH = 512
MAX_IDEMPOTENCY_KEY = 256
"""Characters."""
MAX_HEADER_LENGTH = 512
"""Longer values are truncated, so that 500 envelopes fit into one Kafka message."""

CLIENT_ID_HEADERS = (b"databuddy-client-id", b"tidemark-client-id")
CACHED_QUERY_LENGTH = 256
"""Longer query strings hold a whole item and do not repeat, so they are not cached."""

KEPT_HEADERS = tuple((name.encode(), name) for name in ENRICHMENT_HEADERS)


AWAITED_KEY = "tidemark.awaited"
"""Key of the ASGI scope: the response waits until the items are stored."""


SHARED_BY_HEAD = "tidemark.read_heads"
"""Key of the ASGI scope: a dictionary that requests with the same head share, for what was read."""


class QueryFields(Struct, frozen=True, gc=False):
    """What the collector reads in a query string."""

    website_id: str | None
    ignored: IgnoredParameters | None
    repeated: str | None
    """The first known parameter that has several values: one of them would be ignored."""


class RequestHead(Struct, frozen=True, gc=False):
    """The headers and query parameters that the collector uses."""

    key: str | None
    """The API key as sent, not verified yet."""
    website_id: str | None
    encoding: str
    """`Content-Encoding`; empty without one."""
    user_agent: str
    headers: dict[str, str]
    """KEPT_HEADERS that are present, truncated; and COUNTRY_HEADER if a proxy sent a country."""
    idempotency_key: str
    """Empty without one."""
    awaited: bool = False
    """Whether the response waits until the items are stored."""
    ignored_parameters: IgnoredParameters | None = None
    """Unknown parameters of the query string; None if there are none."""
    do_not_track: bool = False
    """Whether the header `DNT` is 1."""
    global_privacy_control: bool = False
    """Whether the header `Sec-GPC` is 1."""


def read_request_head(scope: Scope) -> RequestHead:
    """Read the head of a request.

    Malformed if its `Idempotency-Key` is too long, or a known parameter has several values.
    """
    known: dict[str, Any] | None = scope.get(SHARED_BY_HEAD)
    if known is None:
        return _read_request_head(scope)
    head: RequestHead | None = known.get(SHARED_BY_HEAD)
    if head is None:
        head = known[SHARED_BY_HEAD] = _read_request_head(scope)
    return head


def read_link_head(scope: Scope) -> RequestHead:
    """As `read_request_head`, of a link: its parameters are for the target, and may be repeated."""
    return _read_head(scope, read_query(scope["query_string"]))


def _read_request_head(scope: Scope) -> RequestHead:
    query = read_query(scope["query_string"])
    if query.repeated is not None:
        raise Malformed(f"'{query.repeated}' has several values in the query string; give it one")
    return _read_head(scope, query)


def _read_head(scope: Scope, query: QueryFields) -> RequestHead:
    headers = headers_by_name(scope)
    kept_headers = {
        name: str(headers[key][:MAX_HEADER_LENGTH], "latin-1")
        for key, name in KEPT_HEADERS
        if key in headers
    }
    if country := scope.get(COUNTRY_KEY):
        kept_headers[COUNTRY_HEADER] = country[:MAX_HEADER_LENGTH]
    return RequestHead(
        _key(headers),
        query.website_id or _client_id(headers),
        str(headers.get(b"content-encoding", b""), "latin-1").strip().lower(),
        str(headers.get(b"user-agent", b"")[:MAX_USER_AGENT_LENGTH], "latin-1"),
        kept_headers,
        _idempotency_key(headers),
        AWAITED_KEY in scope,
        query.ignored,
        headers.get(b"dnt", b"").strip() == b"1",
        headers.get(b"sec-gpc", b"").strip() == b"1",
    )


def website_outside_body(query: bytes, headers: Mapping[bytes, bytes]) -> str | None:
    """The website id in the query string or in a client id header."""
    return website_id(query) or _client_id(headers)


def website_id(query: bytes) -> str | None:
    """The website id in the query string."""
    return read_query(query).website_id


def read_query(query: bytes) -> QueryFields:
    """The website id and the unknown parameters of a query string."""
    return _cached_query(query) if len(query) <= CACHED_QUERY_LENGTH else _read_query(query)


def _read_query(query: bytes) -> QueryFields:
    fields = parse_qs(query.decode("latin-1"))
    named = (fields[name][0] for name in WEBSITE_PARAMETER_NAMES if name in fields)
    repeated = None
    for name, values in fields.items():
        if len(values) > 1 and name in KNOWN_PARAMETERS and len(set(values)) > 1:
            repeated = name
            break
    return QueryFields(next(named, None), ignored_parameters(fields), repeated)


_cached_query = lru_cache(maxsize=8192)(_read_query)


def _key(headers: dict[bytes, bytes]) -> str | None:
    if b"x-api-key" not in headers and b"authorization" not in headers:
        return None
    return read_api_key(lambda name: str(headers.get(name.encode(), b""), "latin-1") or None)


def _client_id(headers: Mapping[bytes, bytes]) -> str | None:
    for name in CLIENT_ID_HEADERS:
        if name in headers:
            return str(headers[name], "latin-1") or None
    return None


def _idempotency_key(headers: dict[bytes, bytes]) -> str:
    if b"idempotency-key" not in headers:
        return ""
    text = headers[b"idempotency-key"]
    if len(text) > MAX_IDEMPOTENCY_KEY:
        raise Malformed(f"'Idempotency-Key' may have at most {MAX_IDEMPOTENCY_KEY} characters")
    return str(text, "latin-1")
