"""Amplitude: the HTTP V2 API and the batch API.

https://amplitude.com/docs/apis/analytics/http-v2
Its clients read the `code` of a reply's body, and send for ever what they cannot understand.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace
from starlette.types import Scope

from ingest.decoding.request_head import website_outside_body
from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Claim,
    Example,
    Message,
    Messages,
    Outcome,
    Protocol,
    Reply,
    Route,
    TrackedItem,
    TrackerRequest,
    event,
    has_old_items,
    identity,
    json_reply,
    number,
    object_of,
    page_exit,
    page_view,
    read_each,
    read_json,
    read_list,
    text,
)
from schemas.errors import ApiError, NoneAccepted, PayloadTooLarge, RateLimitExceeded
from schemas.http.asgi import headers_by_name

PAGE = "[Amplitude] "
"""How the properties of the page begin that the browser client adds."""
DROPPED = {"$groupidentify": "group", "[Amplitude] Session Replay Captured": "session_replay"}
SESSIONS = ("session_start", "session_end")
"""Events that the client makes of others; we derive sessions ourselves."""
SERVER_LIBRARIES = ("amplitude-node", "amplitude-python", "amplitude-go", "amplitude-java")
"""How the `library` of its clients for servers begins."""
MOST_EVENTS = 1000
"""Of a request whose events shall be sent again later."""
EMPTY = "EMPTY"
"""What the browser client sends for a campaign parameter without a value."""


def read_events(request: TrackerRequest) -> Messages:
    """`{"api_key", "events": [...], "client_upload_time"?}`."""
    body = read_json(request.body)
    events = read_list(body, "events")
    uploaded = body.get("client_upload_time")
    return Messages(
        text(body.get("api_key"), 255),
        read_each(events, partial(_message, uploaded=uploaded)),
        len(request.body),
    )


def read_batch(request: TrackerRequest) -> Messages:
    """The same; a batch with an event that is too old for a live one is history."""
    messages = read_events(request)
    return replace(messages, history=has_old_items(messages.messages, request.received_ms))


def is_amplitude(scope: Scope) -> bool:
    """Our own batches name their website or key in the query string or a header."""
    if scope["query_string"]:
        return False
    headers = headers_by_name(scope)
    key_headers = headers.keys() & {b"authorization", b"x-api-key"}
    return not key_headers and website_outside_body(b"", headers) is None


def is_batch(body: bytes) -> bool:
    """Whether a body is an object with a key; ours are arrays."""
    return body.lstrip()[:1] == b"{" and b'"api_key"' in body


def _message(sent: Any, uploaded: object) -> Message:
    if not isinstance(sent, dict):
        return Message(invalid="An event must be a JSON object")
    name = text(sent.get("event_type"), 256)
    if name is None:
        return Message(invalid="'event_type' is required")
    if reason := DROPPED.get(name) or (name if name in SESSIONS else ""):
        return Message(dropped=reason)
    items = _items(name, sent, uploaded)
    address = text(sent.get("ip"), 64) or ""
    return Message(
        items,
        "" if items else "identify_without_user",
        user_agent=text(sent.get("user_agent"), 512) or "",
        address="" if address == "$remote" else address,
        from_server=(text(sent.get("library"), 64) or "").startswith(SERVER_LIBRARIES),
    )


def _items(name: str, sent: Mapping[str, Any], uploaded: object) -> list[TrackedItem]:
    device, user = text(sent.get("device_id"), 200), text(sent.get("user_id"), 128)
    insert_id, session = text(sent.get("insert_id"), 256), text(sent.get("session_id"), 50)
    visitor = device or user
    common = {
        "eventId": insert_id and f"{visitor or ''}:{insert_id}",
        "anonymousId": visitor,
        "sessionId": f"{visitor}.{session}" if visitor and session not in (None, "-1") else None,
        "timestamp": sent.get("time"),
        "sentAt": uploaded,
    }
    traits = _traits(sent.get("user_properties"))
    if name == "$identify":
        return [identity(user, traits, **common)] if user else []
    properties = object_of(sent.get("event_properties"))
    url = properties.get(f"{PAGE}Page URL") or properties.get(f"{PAGE}Page Location")
    fields: dict[str, Any] = {
        **common,
        "profileId": user,
        "path": text(url or properties.get(f"{PAGE}Page Path"), 65_536),
        "title": text(properties.get(f"{PAGE}Page Title"), 512),
        "referrer": text(properties.get("referrer"), 65_536),
        "language": text(sent.get("language"), 64),
        "source": text(sent.get("library"), 64),
    }
    if name in (f"{PAGE}Page Viewed", "Page Viewed"):
        return [page_view(**fields)]
    if name == f"{PAGE}Page Exited":
        return [page_exit(None, **fields)]
    given = {key: value for key, value in properties.items() if not key.startswith(PAGE)}
    for member_name in ("price", "quantity", "revenue", "productId", "currency"):
        if sent.get(member_name) is not None:
            given[member_name] = sent[member_name]
    if name == "revenue_amount":
        given |= {key[1:]: given.pop(key) for key in list(given) if key.startswith("$")}
        given = {**_revenue(given), **given}
    named = event(name.removeprefix(PAGE) or name, **fields, properties=given or None)
    return [named, identity(user, traits, **without_id(common))] if user and traits else [named]


def _revenue(properties: Mapping[str, Any]) -> dict[str, float]:
    """The revenue that a price and a quantity make."""
    price, quantity = number(properties.get("price")), number(properties.get("quantity", 1))
    return {} if price is None or quantity is None else {"revenue": round(price * quantity, 6)}


def without_id(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields without the event id, which belongs to another item."""
    return {name: value for name, value in fields.items() if name != "eventId"}


def _traits(user_properties: object) -> dict[str, object] | None:
    """Traits, with the operations `$set` and `$setOnce` carried out; others change no value."""
    given = object_of(user_properties)
    traits = {key: value for key, value in given.items() if not key.startswith("$")}
    traits = {**object_of(given.get("$setOnce")), **object_of(given.get("$set")), **traits}
    return {key: value for key, value in traits.items() if value not in (EMPTY, "-", None)} or None


def reply(outcome: Outcome) -> Reply:
    """Success; events that are refused are named, so that they are not sent again."""
    return json_reply(
        {
            "code": 200,
            "events_ingested": outcome.accepted,
            "payload_size_bytes": outcome.messages.reply_with,
            "server_upload_time": outcome.request.received_ms,
        }
    )


def error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """With the members by which clients decide what to send again: nothing that is invalid."""
    body: dict[str, object] = {"code": error.status, "error": error.message}
    if isinstance(error, RateLimitExceeded):
        body |= {"eps_threshold": 0, "throttled_users": {}, "throttled_devices": {}}
        # Events that are not named here are sent again at once, and lost after some attempts.
        body["throttled_events"] = list(range(MOST_EVENTS))
    elif isinstance(error, NoneAccepted):
        indexes = [one.index for one in error.details.get("rejected", ())]
        body |= {"events_with_invalid_fields": {"event": indexes}, "missing_field": None}
        body["events_with_missing_fields"] = {}
    elif error.status in (400, 401, 403) and not isinstance(error, PayloadTooLarge):
        body["missing_field"] = "api_key" if error.status != 400 else "events"
        body |= {"events_with_invalid_fields": {}, "events_with_missing_fields": {}}
    return json_reply(body, 400 if error.status in (401, 403) else error.status)


EXAMPLE = Example(
    {
        "api_key": EXAMPLE_ALIAS,
        "events": [
            {
                "event_type": "Order",
                "device_id": "d1",
                "insert_id": "i1",
                "event_properties": {"total": 49.9},
            }
        ],
    }
)

AMPLITUDE = Protocol(
    product="amplitude",
    title="Amplitude",
    setting="serverUrl: '{url}/2/httpapi' (servers: server_url), apiKey '{id}'",
    history="server_url '{url}/batch', apiKey '{id}'",
    routes=(
        Route(path="/2/httpapi", example=EXAMPLE, read=read_events, reply=reply, error=error),
        Route(
            path="/batch",
            example=EXAMPLE,
            read=read_batch,
            reply=reply,
            error=error,
            claim=Claim(is_amplitude, is_batch),
        ),
    ),
)
