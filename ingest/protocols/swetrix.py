"""Swetrix: page views, custom events and errors, by the id of the project.

https://docs.swetrix.com/events-api
"""

from collections.abc import Callable, Mapping
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
    error_report,
    event,
    identity,
    json_reply,
    member,
    number,
    page_view,
    read_json,
    text,
)
from schemas.errors import Malformed

ItemOf = Callable[[Mapping[str, Any]], TrackedItem]
Reads = Callable[[TrackerRequest], Messages]

PERFORMANCE = {
    "ttfb": "ttfb",
    "dom_load": "dom_ready_time",
    "page_load": "load_time",
    "response": "request_time",
    "render": "render_time",
}
"""Times of a page view in milliseconds, with our names."""


def reads(item_of: ItemOf) -> Reads:
    """Reads a body that is one item."""

    def read(request: TrackerRequest) -> Messages:
        body = read_json(request.body)
        if not isinstance(body, dict):
            raise Malformed("The body must be a JSON object")
        return Messages(text(body.get("pid"), 255), [Message([item_of(body)])])

    return read


def read_heartbeat(request: TrackerRequest) -> Messages:
    """That a page is still open, which has no place here."""
    return Messages(
        text(member(read_json(request.body), "pid"), 255), [Message(dropped="heartbeat")]
    )


def _common(body: Mapping[str, Any]) -> dict[str, Any]:
    profile_id = text(body.get("profileId"), 128)
    return {
        "path": text(body.get("pg"), 65_536),
        "language": text(body.get("lc"), 64),
        "timezone": text(body.get("tz"), 64),
        "referrer": text(body.get("ref"), 65_536),
        "utm_source": text(body.get("so"), 256),
        "utm_medium": text(body.get("me"), 256),
        "utm_campaign": text(body.get("ca"), 256),
        "utm_term": text(body.get("te"), 256),
        "utm_content": text(body.get("co"), 256),
        "profileId": profile_id,
        "anonymousId": profile_id,
    }


def _view(body: Mapping[str, Any]) -> TrackedItem:
    times = {
        ours: min(60_000, max(0, round(found)))
        for theirs, ours in PERFORMANCE.items()
        if (found := number(member(body, "perf", theirs))) is not None
    }
    return page_view(**_common(body), **times, properties=_object(body.get("meta")))


def _custom(body: Mapping[str, Any]) -> TrackedItem:
    name = text(body.get("ev"), 256)
    if name is None:
        raise Malformed("'ev' is required")
    return event(name, **_common(body), properties=_object(body.get("meta")))


def read_identify(request: TrackerRequest) -> Messages:
    """The profile of a visitor, with traits."""
    body = read_json(request.body)
    profile_id = text(member(body, "profileId"), 128)
    if profile_id is None:
        raise Malformed("'profileId' is required")
    item = identity(profile_id, _object(body.get("traits")))
    return Messages(text(body.get("pid"), 255), [Message([item])], profile_id)


def _error(body: Mapping[str, Any]) -> TrackedItem:
    line, column = number(body.get("lineno")), number(body.get("colno"))
    name = text(body.get("name"), 128)
    return error_report(
        text(body.get("message"), 2048) or name,
        errorType=name,
        path=text(body.get("pg"), 65_536),
        timezone=text(body.get("tz"), 64),
        filename=text(body.get("filename"), 65_536),
        stack=text(body.get("stackTrace"), 16_384),
        lineno=None if line is None else int(line),
        colno=None if column is None else int(column),
    )


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) and value else None


def reply(_outcome: Outcome) -> Reply:
    """201 and an empty object."""
    return json_reply({}, 201)


def reply_identify(outcome: Outcome) -> Reply:
    """The id of the profile, which its client keeps."""
    return json_reply({"profileId": outcome.messages.reply_with})


def _route(path: str, summary: str, read: Reads, **body: Any) -> Route:
    example = Example({"pid": EXAMPLE_ALIAS, "pg": "/", **body})
    answer = reply_identify if read is read_identify else reply
    return Route(path=path, summary=f"Swetrix: {summary}", example=example, read=read, reply=answer)


SWETRIX = Protocol(
    product="swetrix",
    title="Swetrix",
    setting="apiURL: '{url}/log', project id '{id}'",
    routes=(
        _route("/log", "a page view", reads(_view)),
        _route("/log/", "a page view", reads(_view)),
        _route("/log/custom", "a custom event", reads(_custom), ev="Order"),
        _route("/log/error", "an error", reads(_error), name="Error", message="boom"),
        _route("/log/identify", "a profile", read_identify, profileId="u1", traits={"plan": "pro"}),
        _route("/log/hb", "a heartbeat", read_heartbeat),
    ),
)
