"""Google Analytics 4: the Measurement Protocol of servers, and the requests of gtag.js.

https://developers.google.com/analytics/devguides/collection/protocol/ga4
Its server says 204 whatever it is sent. Only what could not be kept has an error here, so that a
client that looks sends it again.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    NO_CONTENT,
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
    our_error,
    page_exit,
    page_view,
    read_form,
    read_json,
    require_few,
    text,
)
from schemas.errors import ApiError, Malformed, RateLimitExceeded, Unavailable

MAX_EVENTS = 25
"""Of one request of the Measurement Protocol."""
MAX_HITS = 500
"""Of one request of gtag.js, which has some 20: each has the parameters of the query string."""
OWN_EVENTS = frozenset(("session_start", "first_visit", "first_open"))
"""Events that Google Analytics makes of others; we derive sessions ourselves."""
PAGE_PARAMETERS = frozenset(
    ("page_location", "page_referrer", "page_title", "page_path", "session_id", "language",
     "screen_resolution", "engagement_time_msec", "ga_session_id", "ga_session_number")
)  # fmt: skip
"""Parameters with a field of their own."""


def read_measurements(request: TrackerRequest) -> Messages:
    """`{"client_id", "user_id"?, "timestamp_micros"?, "events": [{"name", "params"}]}`.

    What is not a browser is a server, whose agent and address are not the visitor's.
    """
    body = read_json(request.body)
    events = member(body, "events")
    if not isinstance(events, list) or not 1 <= len(events) <= MAX_EVENTS:
        raise Malformed(f"'events' must be an array of 1 to {MAX_EVENTS} events")
    client = text(body.get("client_id") or body.get("app_instance_id"), 200)
    if client is None:
        raise Malformed("'client_id' is required")
    micros = number(body.get("timestamp_micros"))
    alias = request.query.get("measurement_id") or request.query.get("firebase_app_id")
    from_server = not request.headers.get(b"user-agent", b"").startswith(b"Mozilla/")
    user = text(body.get("user_id"), 128)
    measured = (_measured(one, client, user, micros) for one in events)
    return Messages(alias, [replace(one, from_server=from_server) for one in measured])


def _measured(sent: Any, client: str, user: str | None, micros: float | None) -> Message:
    params = object_of(member(sent, "params"))
    micros = number(member(sent, "timestamp_micros")) or micros
    session = text(params.get("session_id"), 50)
    return _message(
        text(member(sent, "name"), 256),
        params,
        {
            "anonymousId": client,
            "profileId": user,
            "sessionId": session and f"{client}.{session}",
            "timestamp": None if micros is None else round(micros / 1000),
        },
    )


def read_hits(request: TrackerRequest) -> Messages:
    """Parameters of the query string, and an event for each line of the body if there is one."""
    lines = [line for line in request.body.split(b"\n") if line.strip()]
    require_few(len(lines), MAX_HITS)
    shared = dict(request.query)
    hits = [{**shared, **read_form(line.strip())} for line in lines] or [shared]
    messages = [replace(_hit(hit), alias=hit.get("tid")) for hit in hits]
    return Messages(request.query.get("tid"), messages)


def _hit(hit: Mapping[str, str]) -> Message:
    client = text(hit.get("cid"), 200)
    session = text(hit.get("sid"), 50)
    params: dict[str, Any] = {
        "page_location": hit.get("dl"),
        "page_referrer": hit.get("dr"),
        "page_title": hit.get("dt"),
        "language": hit.get("ul"),
        "screen_resolution": hit.get("sr"),
        "engagement_time_msec": hit.get("_et"),
        "currency": hit.get("cu"),
        **{name[3:]: value for name, value in hit.items() if name.startswith("ep.")},
        **{name[4:]: number(value) for name, value in hit.items() if name.startswith("epn.")},
    }
    return _message(
        text(hit.get("en"), 256),
        params,
        {
            "anonymousId": client,
            "profileId": text(hit.get("uid"), 128),
            "sessionId": client and session and f"{client}.{session}",
        },
    )


def _message(name: str | None, params: Mapping[str, Any], common: dict[str, object]) -> Message:
    if name is None:
        return Message(invalid="'name' of an event is required")
    if name in OWN_EVENTS:
        return Message(dropped=name)
    fields: dict[str, Any] = {
        **common,
        "path": text(params.get("page_location") or params.get("page_path"), 65_536),
        "referrer": text(params.get("page_referrer"), 65_536),
        "title": text(params.get("page_title"), 512),
        "language": text(params.get("language"), 64),
        "screen_resolution": text(params.get("screen_resolution"), 64),
    }
    if name == "user_engagement":
        milliseconds = number(params.get("engagement_time_msec")) or 0
        if milliseconds <= 0 or fields["path"] is None:
            return Message(dropped=name)
        return Message([page_exit(milliseconds / 1000, **fields)])
    properties = {
        key: value
        for key, value in params.items()
        if key not in PAGE_PARAMETERS and value is not None
    }
    return Message([_item(name, params, fields | {"properties": properties or None})])


def _item(name: str, params: Mapping[str, Any], fields: dict[str, Any]) -> TrackedItem:
    if name == "page_view":
        return page_view(**fields)
    if name == "screen_view":
        screen = text(params.get("firebase_screen") or params.get("screen_name"), 2048)
        path = fields["path"] or (screen and f"/{screen}")
        return page_view(**{**fields, "path": path, "title": fields["title"] or screen})
    return event(name, **fields)


def reply(_outcome: Outcome) -> Reply:
    """204, always."""
    return NO_CONTENT


def error(error: ApiError, request: TrackerRequest | None) -> Reply:
    """An error only where a retry helps; else 204 as Google's server."""
    if isinstance(error, Unavailable | RateLimitExceeded):
        return our_error(error, request)
    return NO_CONTENT


def validated(outcome: Outcome) -> Reply:
    """The reply of the debug endpoint: one message for each refused event."""
    return _validation(
        {f"events[{index}]": message for index, message in sorted(outcome.rejected.items())}
    )


def validation_error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """The reply of the debug endpoint to a request that is refused as a whole."""
    return _validation({"": error.message})


def _validation(messages: Mapping[str, str]) -> Reply:
    return json_reply(
        {
            "validationMessages": [
                {"fieldPath": path, "description": message, "validationCode": "VALUE_INVALID"}
                for path, message in messages.items()
            ]
        }
    )


MEASUREMENT = Example(
    {
        "client_id": "1234.5678",
        "events": [
            {
                "name": "purchase",
                "params": {
                    "page_location": "https://shop.example/done",
                    "session_id": "1795000000",
                    "transaction_id": "T1",
                    "value": 49.9,
                    "currency": "EUR",
                },
            }
        ],
    },
    f"measurement_id={EXAMPLE_ALIAS}&api_secret=s",
)
HIT = (
    f"v=2&tid={EXAMPLE_ALIAS}&cid=1234.5678&sid=1795000000&en=page_view"
    "&dl=https%3A%2F%2Fshop.example%2F&dt=Shop"
)

GA4 = Protocol(
    product="ga4",
    title="Google Analytics 4",
    setting="gtag('config', '{id}', {{server_container_url: '{url}'}}); servers: POST to "
    "{url}/mp/collect?measurement_id={id}",
    routes=(
        Route(
            path="/mp/collect",
            example=MEASUREMENT,
            read=read_measurements,
            reply=reply,
            error=error,
        ),
        Route(
            path="/debug/mp/collect",
            example=MEASUREMENT,
            read=read_measurements,
            reply=validated,
            error=validation_error,
        ),
        Route(
            path="/g/collect",
            methods=("GET", "POST"),
            example=Example(query=HIT),
            read=read_hits,
            reply=reply,
            error=error,
        ),
    ),
)
