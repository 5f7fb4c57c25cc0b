"""Plausible: one event per request, of its scripts or of its Events API.

https://plausible.io/docs/events-api
"""

from typing import Any

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
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
    json_reply,
    member,
    number,
    object_of,
    page_exit,
    page_view,
    read_json,
    read_object,
    text,
    text_reply,
)
from schemas.errors import ApiError, Malformed

SHORT_NAMES = {
    "n": "name",
    "u": "url",
    "d": "domain",
    "r": "referrer",
    "p": "props",
    "m": "props",
    "$": "revenue",
    "i": "interactive",
}
"""Names that scripts send → those of the Events API."""


def read_event(request: TrackerRequest) -> Messages:
    """The event, once for each of its distinct domains."""
    body = read_object(request.body, "event")
    sent = {SHORT_NAMES.get(str(name), str(name)): value for name, value in body.items()}
    named = (text(sent.get("domain"), 4096) or "").split(",")
    domains = list(dict.fromkeys(domain.strip()[:255] for domain in named))
    message = read_message(sent)
    forwarded = request.headers.get(b"x-forwarded-for", b"").decode("latin-1").partition(",")[0]
    address = forwarded.strip()
    # Only who passes an address on also passes the visitor's user agent on.
    agent = request.headers.get(b"user-agent", b"").decode("latin-1")[:512] if address else ""
    return Messages(
        domains[0] or None,
        [
            Message(
                message.items,
                invalid=message.invalid,
                alias=domain or None,
                user_agent=agent,
                address=address[:64],
            )
            for domain in domains
        ],
    )


def read_message(sent: dict[str, Any]) -> Message:
    """What an event becomes."""
    name, url = text(sent.get("name"), 256), text(sent.get("url"), 65_536)
    if name is None:
        return Message(invalid="'name' is required")
    if url is None:
        return Message(invalid="'url' is required")
    if name == "engagement":
        return Message([left(sent, url)])
    interactive = sent.get("interactive")
    fields: dict[str, object] = {
        "path": url,
        "referrer": text(sent.get("referrer"), 65_536),
        "properties": properties(sent),
        "interactive": interactive if isinstance(interactive, bool) else None,
    }
    item = page_view(**fields) if name == "pageview" else event(name, **fields)
    return Message([item])


def left(sent: dict[str, Any], url: str) -> TrackedItem:
    """The end of a page view, or of a part of it."""
    engaged_ms = number(sent.get("e"))
    seconds = None if engaged_ms is None else engaged_ms / 1000
    return page_exit(seconds, number(sent.get("sd")), path=url)


def properties(sent: dict[str, Any]) -> dict[str, Any] | None:
    """The properties, with the amount of the revenue; older scripts send them as text."""
    props = sent.get("props")
    if isinstance(props, str):
        try:
            props = read_json(props.encode())
        except Malformed:
            props = None
    props = object_of(props)
    amount = number(member(sent.get("revenue"), "amount"))
    if amount is not None:
        currency = text(member(sent.get("revenue"), "currency"), 64)
        props = {**props, "revenue": amount, **({"currency": currency} if currency else {})}
    return props or None


def reply(_outcome: Outcome) -> Reply:
    """What Plausible's own server replies."""
    return text_reply("ok", 202)


def error_reply(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """Errors by field; ours name the field themselves."""
    return json_reply({"errors": {"event": [error.message]}}, error.status)


PLAUSIBLE = Protocol(
    product="plausible",
    title="Plausible",
    agent_is_visitors=True,
    setting="script: data-api='{url}/api/event', data-domain '{id}'; plugin API: {url}/api/event",
    routes=(
        Route(
            path="/api/event",
            example=Example({"n": "pageview", "u": "https://shop.example/", "d": EXAMPLE_ALIAS}),
            read=read_event,
            reply=reply,
            error=error_reply,
        ),
    ),
)
