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
    TrackerRequest,
    error_report,
    event,
    identity,
    json_reply,
    member,
    number,
    object_of,
    page_view,
    position,
    read_object,
    text,
)

Body = Mapping[str, Any]

PERFORMANCE = {
    "ttfb": "ttfb",
    "dom_load": "dom_ready_time",
    "page_load": "load_time",
    "response": "request_time",
    "render": "render_time",
}
"""Times of a page view in milliseconds, with our names."""


def reads(message_of: Callable[[Body], Message]) -> Callable[[TrackerRequest], Messages]:
    """Reads a body that is one message; the reply to a profile has its id."""

    def read(request: TrackerRequest) -> Messages:
        body = read_object(request.body, "message")
        return Messages(
            text(body.get("pid"), 255), [message_of(body)], text(body.get("profileId"), 128)
        )

    return read


def _common(body: Body) -> dict[str, Any]:
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


def _view(body: Body) -> Message:
    times = {
        ours: min(60_000, max(0, round(milliseconds)))
        for theirs, ours in PERFORMANCE.items()
        if (milliseconds := number(member(body, "perf", theirs))) is not None
    }
    properties = object_of(body.get("meta")) or None
    return Message([page_view(**_common(body), **times, properties=properties)])


def _custom(body: Body) -> Message:
    name = text(body.get("ev"), 256)
    if name is None:
        return Message(invalid="'ev' is required")
    properties = object_of(body.get("meta")) or None
    return Message([event(name, **_common(body), properties=properties)])


def _profile(body: Body) -> Message:
    profile_id = text(body.get("profileId"), 128)
    if profile_id is None:
        return Message(invalid="'profileId' is required")
    return Message([identity(profile_id, object_of(body.get("traits")) or None)])


def _error(body: Body) -> Message:
    name = text(body.get("name"), 128)
    return Message(
        [
            error_report(
                text(body.get("message"), 2048) or name,
                errorType=name,
                path=text(body.get("pg"), 65_536),
                timezone=text(body.get("tz"), 64),
                filename=text(body.get("filename"), 65_536),
                stack=text(body.get("stackTrace"), 16_384),
                lineno=position(body.get("lineno")),
                colno=position(body.get("colno")),
                properties=object_of(body.get("meta")) or None,
            )
        ]
    )


def _heartbeat(_body: Body) -> Message:
    return Message(dropped="heartbeat")


def reply(_outcome: Outcome) -> Reply:
    """201 and an empty object."""
    return json_reply({}, 201)


def reply_profile(outcome: Outcome) -> Reply:
    """The id of the profile, which its client keeps."""
    return json_reply({"profileId": outcome.messages.reply_with})


def _route(path: str, message_of: Callable[[Body], Message], **body: Any) -> Route:
    return Route(
        path=path,
        example=Example({"pid": EXAMPLE_ALIAS, "pg": "/", **body}),
        read=reads(message_of),
        reply=reply_profile if message_of is _profile else reply,
    )


SWETRIX = Protocol(
    product="swetrix",
    title="Swetrix",
    agent_is_visitors=True,
    setting="apiURL: '{url}/log', project id '{id}'",
    routes=(
        _route("/log", _view),
        _route("/log/", _view),
        _route("/log/custom", _custom, ev="Order"),
        _route("/log/error", _error, name="Error", message="boom"),
        _route("/log/identify", _profile, profileId="u1", traits={"plan": "pro"}),
        _route("/log/hb", _heartbeat),
    ),
)
