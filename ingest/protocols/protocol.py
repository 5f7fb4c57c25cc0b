"""Protocol: how the trackers of another product are understood; each is a value in its own file.

A protocol has routes. A route reads a request into messages, each message into items of ours, and
replies as the product's own server does, because its clients check the reply. Authentication,
rate limits, validation, Kafka and counting are those of every request (`endpoints/protocols.py`).
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.types import Scope

from schemas.errors import ApiError, Malformed, PayloadTooLarge
from schemas.event_times import MAX_AGE_MS, instant_ms
from schemas.http.error_bodies import collect_error, encode_json
from schemas.kinds import CUSTOM_EVENT, ERROR_REPORT, VISITOR_IDENTITY, WEB_VITAL, Kind

MAX_PARAMETERS = 500
"""Parameters of a query string or form."""
MAX_MESSAGES = 5_000
"""Messages of a request; more than a batch of any client has, as a body has at most a MiB."""
MAX_LISTED = 100
"""Refused messages that a reply lists, the first ones."""


class TrackerRequest(Struct, frozen=True):
    """A request of another product's tracker."""

    path: str
    """Without the prefix of the product."""
    query: Mapping[str, str]
    """Parameters of the query string; the first value of each."""
    headers: Mapping[bytes, bytes]
    body: bytes
    """Decompressed."""
    body_as_sent: bytes
    """What a signature is of."""
    basic: tuple[str, str] | None
    """User name and password of HTTP Basic."""
    received_ms: int


class TrackedItem(Struct, frozen=True):
    """One item of ours: its kind, and its fields by wire name; None means absent."""

    kind: Kind
    fields: Mapping[str, object]


class Message(Struct, frozen=True):
    """What one message of a request becomes: items, nothing because it has no place, or a refusal.

    The user agent and address are the visitor's where a server sends for it; they are believed
    only with an API key.
    """

    items: Sequence[TrackedItem] = ()
    dropped: str = ""
    """The name of what has no place here, such as `feature_flag`; one of few, as the ledger counts
    by it."""
    invalid: str = ""
    """Why it is refused: names the field and the rule."""
    alias: str | None = None
    """The id of its website, where messages name one each; None: that of the request."""
    user_agent: str = ""
    address: str = ""
    from_server: bool = False
    """Whether it was sent by a library for servers: the request's browser and address are not the
    visitor's."""


class Messages(Struct, frozen=True):
    """What a route reads in a request."""

    alias: str | None
    """The id by which the tracker names the website, or an API key of ours; None without one."""
    messages: Sequence[Message]
    reply_with: Any = None
    """What the reply needs of the request, such as the ids of its messages."""
    history: bool = False
    """Whether they are sent as history: with an API key, for the open import of the product."""


class Outcome(Struct, frozen=True):
    """What became of the messages of a request, for the reply."""

    request: TrackerRequest
    messages: Messages
    rejected: Mapping[int, str]
    """Why messages were refused, by index."""
    failed: Mapping[int, ApiError]
    """Why Kafka did not take messages, by index; only for routes that reply to each message."""

    @property
    def listed(self) -> Mapping[int, str]:
        """The first refused messages, for replies that list them."""
        return dict(islice(sorted(self.rejected.items()), MAX_LISTED))

    @property
    def accepted(self) -> int:
        """Number of messages that were stored or dropped by name."""
        return len(self.messages.messages) - len(self.rejected) - len(self.failed)


class Reply(Struct, frozen=True):
    """A response."""

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


def json_reply(body: object, status: int = 200) -> Reply:
    """A response of JSON."""
    return Reply(encode_json(body), status)


def text_reply(text: str, status: int = 200) -> Reply:
    """A response of plain text."""
    return Reply(text.encode(), status, "text/plain; charset=utf-8")


GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
"""One transparent pixel."""


def pixel_reply() -> Reply:
    """An image of one pixel."""
    return Reply(GIF, media_type="image/gif")


NO_CONTENT = Reply(b"", 204)


def our_error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """An error in our own shape: for products whose clients read the status only."""
    return json_reply(listed_error(error), error.status)


def listed_error(error: ApiError) -> dict[str, Any]:
    """The body of an error in our own shape, with the first of the messages that were refused."""
    body = collect_error(error)
    return {**body, "rejected": body["rejected"][:MAX_LISTED]} if "rejected" in body else body


ErrorReply = Callable[[ApiError, TrackerRequest | None], Reply]
"""The reply to a request that failed as a whole; None: before its body was read."""

EXAMPLE_ALIAS = "example-alias"
"""The id of the website in examples."""


class Example(Struct, frozen=True):
    """A request that a route accepts, from a website with the alias EXAMPLE_ALIAS."""

    body: object = None
    """JSON, or text as it is."""
    query: str = ""
    headers: Mapping[str, str] = {}


class Claim(Struct, frozen=True):
    """Which requests to a path that is one of ours too are for a product."""

    by_head: Callable[[Scope], bool]
    """By method, query string and headers."""
    by_body: Callable[[bytes], bool] | None = None
    """By the body too; None: whatever it is."""


class Route(Struct, frozen=True, kw_only=True):
    """One path of a product's server, served behind the prefix of the product as well."""

    path: str
    """Begins with the prefix where the path without it is another endpoint's, for all requests."""
    methods: tuple[str, ...] = ("POST",)
    example: Example
    """A request that the tests send."""
    read: Callable[[TrackerRequest], Messages]
    """Read a request; Malformed if it is none of the product's."""
    reply: Callable[[Outcome], Reply]
    error: ErrorReply = our_error
    claim: Claim | None = None
    """For a path that is one of ours too; all requests behind the prefix are the product's."""
    replies_each: bool = False
    """Whether the reply has the result of each message."""
    verify: Callable[[TrackerRequest, bytes], Reply | None] | None = None
    """Called before messages are read, with the product's secret, which each installation has of
    its own: Forbidden for a request that is not signed; a reply to one without messages."""


class Page(Struct, frozen=True, kw_only=True):
    """A path that trackers read, such as settings: the same for everybody, nothing is stored."""

    path: str
    """May have a variable, such as `/v1/projects/{key}/settings`."""
    methods: tuple[str, ...] = ("GET",)
    reply: Callable[[TrackerRequest], Reply]


class Protocol(Struct, frozen=True, kw_only=True):
    """What the collector understands of one product's trackers."""

    product: str
    """As in aliases; also the prefix of its routes."""
    title: str
    setting: str
    """What to change in its trackers, with {url} for the collector's address and {id}."""
    history: str = ""
    """What to set in clients that send history, with {url}, {host} and an API key as {id}; empty:
    none sends it."""
    agent_is_visitors: bool = False
    """Whether `User-Agent` is by definition the visitor's, whoever sends the request."""
    routes: tuple[Route, ...]
    pages: tuple[Page, ...] = ()

    @property
    def prefix(self) -> str:
        """Prefix of its routes."""
        return f"/{self.product}"

    def paths(self, route: Route | Page) -> tuple[str, ...]:
        """The paths of a route; the first is no other endpoint's."""
        if route.path == self.prefix or route.path.startswith(f"{self.prefix}/"):
            return (route.path,)
        paths = (route.path, self.prefix + route.path)
        return paths[::-1] if isinstance(route, Route) and route.claim else paths


def is_program(user_agent: str) -> bool:
    """Whether a program on a server sent a request: neither a browser nor a phone's app."""
    return bool(user_agent) and not any(name in user_agent for name in BROWSERS_AND_APPS)


BROWSERS_AND_APPS = ("Mozilla/", "Opera/", "okhttp", "Dart", "CFNetwork", "Dalvik")


def require_few(count: int, most: int = MAX_MESSAGES) -> None:
    """PayloadTooLarge if a request has more messages than one may have; before they are read."""
    if count > most:
        raise PayloadTooLarge(f"A request may have at most {most:,} messages; send it in parts")


def read_each(sent: Sequence[Any], read: Callable[[Any], Message]) -> list[Message]:
    """What each message becomes; PayloadTooLarge if there are too many."""
    require_few(len(sent))
    return [read(one) for one in sent]


def has_old_items(messages: Sequence[Message], received_ms: int) -> bool:
    """Whether an item is older than a live one may be."""
    oldest = received_ms - MAX_AGE_MS
    times = (item.fields.get("timestamp") for one in messages for item in one.items)
    instants = (instant_ms(time) for time in times if isinstance(time, str | int | float))
    return any(instant is not None and instant < oldest for instant in instants)


def event(name: object, **fields: object) -> TrackedItem:
    """A custom event."""
    return TrackedItem(CUSTOM_EVENT, {"name": name, **fields})


def page_view(**fields: object) -> TrackedItem:
    """A page view, or the view of a screen."""
    return TrackedItem(CUSTOM_EVENT, {"name": "screen_view", **fields})


def page_exit(seconds: float | None, depth: float | None = None, **fields: object) -> TrackedItem:
    """The end of a page view: visible seconds, and the greatest percentage of the page seen.

    A percentage above 100, as of a page that shrank, is 100.
    """
    seconds = None if seconds is None else max(0.0, seconds)
    depth = None if depth is None else min(max(0.0, depth), 100.0)
    return TrackedItem(
        CUSTOM_EVENT,
        {"name": "page_exit", "time_on_page": seconds, "scroll_depth": depth, **fields},
    )


def identity(profile_id: object, traits: object = None, **fields: object) -> TrackedItem:
    """A visitor's profile id, with traits."""
    return TrackedItem(VISITOR_IDENTITY, {"profileId": profile_id, "traits": traits, **fields})


def error_report(message: object, **fields: object) -> TrackedItem:
    """An error of a page."""
    return TrackedItem(ERROR_REPORT, {"message": message, **fields})


def web_vital(metric: str, value: object, **fields: object) -> TrackedItem:
    """One web vitals measurement."""
    return TrackedItem(WEB_VITAL, {"metricName": metric, "metricValue": value, **fields})


def read_json(body: bytes) -> Any:
    """The JSON of a body, with null for NaN and infinite numbers, as Python writes; Malformed."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if b"NaN" in body or b"Infinity" in body:
            with suppress(ValueError, RecursionError):
                # Encoded again without them, as other numbers may be none for msgspec.
                lax = json.loads(body, parse_constant=lambda _: None)
                return msgspec.json.decode(json.dumps(lax))
        raise Malformed(f"The body must be JSON in UTF-8: {error}") from None


def read_object(body: bytes, content: str = "content") -> dict[str, Any]:
    """The JSON object of a body; Malformed."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise Malformed(f"The body must be one {content}: a JSON object")
    return value


def read_list(body: object, name: str, content: str = "event") -> list[Any]:
    """The array that a body has under a name; Malformed if it has no element."""
    values = member(body, name)
    if not isinstance(values, list) or not values:
        raise Malformed(f"'{name}' must be an array with at least one {content}")
    return values


def read_form(body: bytes) -> dict[str, str]:
    """The fields of a form or query string, the first value of each; Malformed if too many."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise Malformed(f"A request may have at most {MAX_PARAMETERS} parameters") from None
    return dict(reversed(pairs))


def read_base64(value: str | bytes) -> bytes:
    """Decoded base64, of either alphabet and with or without padding; Malformed.

    A space was a `+` that a client wrote into a form as it is.
    """
    data = value.encode("latin-1", "replace") if isinstance(value, str) else value
    data = data.translate(_URL_SAFE, b"\r\n").rstrip(b"=")
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4), validate=True)
    except ValueError:
        raise Malformed("The data must be JSON or valid base64") from None


def read_json_or_form(request: TrackerRequest) -> Any:
    """JSON of the body, or of `data` in a form or query string, which may be base64; Malformed."""
    body = request.body.strip()
    if body[:1] in (b"[", b"{"):
        return read_json(body)
    data = read_form(body).get("data") or request.query.get("data")
    if not data:
        raise Malformed("The body must be JSON, or a form with JSON in 'data'")
    is_json = data.lstrip()[:1] in ("[", "{")
    return read_json(data.encode("utf-8", "replace") if is_json else read_base64(data))


_URL_SAFE = bytes.maketrans(b"-_ ", b"+/+")


def member(value: object, *path: str) -> Any:
    """The member of nested objects at a path; None where there is none."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def object_of(value: object) -> dict[str, Any]:
    """A JSON object; an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def text(value: object, max_length: int) -> str | None:
    """A text cut to the length that we store; numbers as text, everything else is absent."""
    if isinstance(value, str):
        return value[:max_length] or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value)[:max_length]


def number(value: object) -> float | None:
    """A finite number, or a text that is one; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if parsed - parsed == 0 else None


def position(value: object) -> int | None:
    """A line or column of a source file; None for everything else."""
    parsed = number(value)
    return None if parsed is None or not 0 <= parsed < 2**31 else int(parsed)


def size_text(width: object, height: object) -> str | None:
    """`WIDTHxHEIGHT` in whole pixels; None unless both are numbers."""
    sizes = (number(width), number(height))
    if None in sizes:
        return None
    return "x".join(str(round(size)) for size in sizes if size is not None)
