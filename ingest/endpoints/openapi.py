"""The collector as an OpenAPI document: a route per kind of item, the redirect, the health."""

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from ingest.decoding.limits import ITEMS
from ingest.endpoints.debug import DEBUG
from ingest.endpoints.responses import REFUSED, Debugged, Exceeded, Refused, Taken
from ingest.endpoints.robots import OPERATIONS as ROBOTS
from ingest.endpoints.scripts import OPERATIONS as SCRIPTS
from ingest.endpoints.tracker_operations import KEYS, TRACKERS, WEBSITE, shown
from ingest.endpoints.wait_for_storage import MOST_SECONDS, USUAL_SECONDS
from ingest.links.described import OPERATIONS as LINKS
from ingest.shown_history import IMPORT
from schemas.errors import (
    Forbidden,
    LimitExceeded,
    Malformed,
    Unauthorized,
    Unavailable,
)
from schemas.http.health import OPERATIONS as HEALTH
from schemas.http.openapi import Answer, Operation, Parameter, Service
from schemas.kinds import KINDS, Kind

EXAMPLES: dict[str, dict[str, object]] = {
    "/track": {
        "one event": {
            "name": "signup",
            "properties": {"plan": "pro"},
            "anonymousId": "a1",
            "sessionId": "s1",
        },
        "a page view and a click that leaves": [
            {"name": "screen_view", "path": "https://shop.example/", "sessionId": "s1"},
            {"name": "outbound_click", "href": "https://x.example/", "text": "more"},
        ],
    },
    "/vitals": {
        "one measurement": [
            {"path": "https://shop.example/", "metricName": "LCP", "metricValue": 1800.5}
        ]
    },
    "/errors": {
        "one error": [
            {"path": "https://shop.example/", "message": "x is undefined", "lineno": 3, "colno": 7}
        ]
    },
    "/engagement": {
        "one page, left": [
            {
                "path": "https://shop.example/",
                "exitType": "unload",
                "timeOnPage": 40,
                "clickCount": 3,
            }
        ]
    },
    "/identify": {
        "a visitor who signed in": {
            "profileId": "user-7",
            "anonymousId": "a1",
            "traits": {"plan": "pro"},
        }
    },
}


def _operation(kind: Kind) -> Operation:
    item = shown(kind.item)
    many = Annotated[list[item], Meta(min_length=1, max_length=ITEMS)]  # type: ignore[valid-type]
    return Operation(
        method="POST",
        path=kind.path,
        name=kind.path[1:],
        group="Collect",
        meaning=f"Send items of the kind {kind.name}",
        more=f"At most {ITEMS} in one request. Success means that they are kept. "
        "An item with an eventId that was sent before is kept once.",
        parameters=WEBSITE,
        body=many if kind.batch_only else item | many,
        examples=EXAMPLES[kind.path],
        answers=(Answer(200, "taken", Taken),),
        failures=REFUSED,
        keys=KEYS,
    )


WAIT = (
    Parameter(
        "wait",
        "answer when the items can be asked for",
        {"type": "string", "enum": ["stored"]},
    ),
    Parameter(
        "timeout",
        "seconds to wait at most",
        {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MOST_SECONDS,
            "default": USUAL_SECONDS,
        },
    ),
)


def waitable(operation: Operation) -> Operation:
    """An operation that can be waited for."""
    late = replace(operation.answers[0], status=202, meaning="taken, and not stored in time")
    return replace(
        operation,
        parameters=(*operation.parameters, *WAIT),
        answers=(*operation.answers, late),
    )


DEBUGGING = Operation(
    method="GET",
    path=DEBUG,
    name="debug",
    group="Collect",
    meaning="Show the last items received for a website, accepted or not and why",
    more="The key needs `read:data`. With `follow=1` they come from the oldest on, and then as "
    "they are received, a line of JSON each; an empty line when nothing came for a while. Each "
    "collector process shows what it received itself, since its start.",
    parameters=(
        Parameter("website_id", "the website"),
        Parameter("follow", "whether to go on", {"type": "string", "enum": ["0", "1"]}),
    ),
    answers=(Answer(200, "what was received", Debugged, files=("application/x-ndjson",)),),
    failures=(Malformed, Unauthorized, Forbidden, LimitExceeded, Unavailable),
)


def service() -> Service:
    """What the collector is."""
    collecting = (*(_operation(kind) for kind in KINDS if kind.path), *TRACKERS)
    return Service(
        title="Tidemark: collection",
        meaning="Takes events, web vitals and errors from trackers and servers. "
        "Every answer says how many requests are left.",
        operations=(
            *map(waitable, collecting),
            IMPORT,
            DEBUGGING,
            *LINKS,
            *ROBOTS,
            *SCRIPTS,
            *HEALTH,
        ),
        failure=Refused,
        exceeded=Exceeded,
        ways={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
