"""Umami: one event per request, or an array of them. https://umami.is/docs/api/sending-stats"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Example,
    Message,
    Messages,
    Outcome,
    Page,
    Protocol,
    Reply,
    Route,
    TrackedItem,
    TrackerRequest,
    event,
    identity,
    json_reply,
    member,
    number,
    object_of,
    page_view,
    read_each,
    read_json,
    read_object,
    text,
    web_vital,
)
from schemas.errors import ApiError, Malformed

TYPES = ("event", "identify", "performance")
VITALS = ("LCP", "INP", "CLS", "FCP", "TTFB")
WEBSITE_NAMES = ("website", "link", "pixel")
NODE_AGENT = "Mozilla/5.0 Umami/"


def read_one(request: TrackerRequest) -> Messages:
    """`{"type", "payload": {"website", …}}`."""
    message = read_event(read_object(request.body, "event"), request)
    return Messages(message.alias, [message])


def read_batch(request: TrackerRequest) -> Messages:
    """An array of what `/api/send` takes."""
    body = read_json(request.body)
    if not isinstance(body, list) or not body:
        raise Malformed("The body must be an array with at least one event")
    return Messages(None, read_each(body, partial(read_event, request=request)))


def read_event(sent: Any, request: TrackerRequest) -> Message:
    """What one event becomes."""
    payload = member(sent, "payload")
    if not isinstance(payload, dict):
        return Message(invalid="'payload' must be a JSON object")
    website = next(filter(None, (text(payload.get(name), 255) for name in WEBSITE_NAMES)), None)
    if sent.get("type") not in TYPES:
        return Message(invalid=f"'type' must be one of {', '.join(TYPES)}", alias=website)
    items = items_of(str(sent["type"]), payload)
    return Message(
        items,
        dropped="" if items else f"{sent['type']} without content",
        alias=website,
        user_agent=text(payload.get("userAgent"), 512) or "",
        address=text(payload.get("ip"), 64) or "",
        from_server=is_server(request),
    )


def is_server(request: TrackerRequest) -> bool:
    """Whether a client for servers sent it: the script of pages has no `Authorization`."""
    agent = request.headers.get(b"user-agent", b"").decode("latin-1")
    return agent.startswith(NODE_AGENT) or b"authorization" in request.headers


def items_of(event_type: str, payload: Mapping[str, Any]) -> list[TrackedItem]:
    """The items of an event; none for an identity without an id."""
    common, url, data = common_fields(payload), page_url(payload), object_of(payload.get("data"))
    if event_type == "identify":
        person = text(payload.get("id"), 128)
        return [identity(person, data or None, **common)] if person else []
    if event_type == "performance":
        return [
            web_vital(metric, value, **common, path=url or "/")
            for metric in VITALS
            if (value := number(payload.get(metric.lower()))) is not None
        ]
    name, tag = text(payload.get("name"), 256), text(payload.get("tag"), 256)
    fields: dict[str, object] = {
        **common,
        "properties": {**data, **({"tag": tag} if tag else {})} or None,
        "profileId": text(payload.get("id"), 128),
        "path": url,
        "title": text(payload.get("title"), 512),
        "referrer": text(payload.get("referrer"), 65_536),
        "language": text(payload.get("language"), 64),
        "screen_resolution": text(payload.get("screen"), 64),
    }
    return [event(name, **fields) if name else page_view(**fields)]


def common_fields(payload: Mapping[str, Any]) -> dict[str, object]:
    """Fields of all items; times are in seconds."""
    seconds = number(payload.get("timestamp"))
    return {
        "anonymousId": text(payload.get("id"), 256),
        "timestamp": None if seconds is None else seconds * 1000,
    }


def page_url(payload: Mapping[str, Any]) -> str | None:
    """The page's URL; Umami's has no host."""
    url, host = text(payload.get("url"), 65_000), text(payload.get("hostname"), 255)
    if url is None or host is None or "://" in url.partition("?")[0]:
        return url
    return f"https://{host}/{url.lstrip('/')}"


def reply_one(_outcome: Outcome) -> Reply:
    """The members of Umami's reply, empty: the script sends `cache` back, and works without."""
    return json_reply({"cache": "", "sessionId": "", "visitId": ""})


def reply_batch(outcome: Outcome) -> Reply:
    """Number of events, and what was refused."""
    return json_reply(
        {
            "size": len(outcome.messages.messages),
            "processed": outcome.accepted,
            "errors": len(outcome.rejected),
            "details": [
                {"index": index, "response": {"error": {"message": message}}}
                for index, message in outcome.listed.items()
            ],
        }
    )


def error_reply(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """An error as Umami's server has it."""
    body = {"error": {"message": error.message, "code": error.code, "status": error.status}}
    return json_reply(body, error.status)


EVENT = {
    "type": "event",
    "payload": {"website": EXAMPLE_ALIAS, "hostname": "shop.example", "url": "/", "name": "Signup"},
}
UMAMI = Protocol(
    product="umami",
    title="Umami",
    agent_is_visitors=True,
    setting="data-host-url '{url}', data-website-id '{id}'",
    routes=(
        Route(
            path="/api/send",
            example=Example(EVENT),
            read=read_one,
            reply=reply_one,
            error=error_reply,
        ),
        Route(
            path="/api/batch",
            example=Example([EVENT]),
            read=read_batch,
            reply=reply_batch,
            error=error_reply,
        ),
    ),
    pages=(
        Page(
            path="/api/record",
            methods=("POST",),
            reply=lambda _request: json_reply({"ok": True}),
        ),
    ),
)
