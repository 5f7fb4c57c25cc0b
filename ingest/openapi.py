"""The collector as an OpenAPI document: a route per kind of item, the redirect, the health."""

from typing import Annotated

from msgspec import Meta

from ingest.answers import REFUSED, Exceeded, Refused, Taken
from ingest.bounds import ITEMS
from ingest.shown import KEYS, TRACKERS, WEBSITE, shown
from schemas.edge.health import OPERATIONS as HEALTH
from schemas.failures import LimitExceeded, NotFound
from schemas.kinds import KINDS, Kind
from schemas.openapi import Answer, Operation, Parameter, Service

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


REDIRECT = Operation(
    method="GET",
    path="/l/{slug}",
    name="follow",
    group="Links",
    meaning="Follow a short link, and count the click",
    parameters=(Parameter("slug", "the link's last part", required=True, within="path"),),
    answers=(Answer(302, "to where it leads", headers=("Location",)),),
    failures=(NotFound, LimitExceeded),
    keys=({},),
)


def service() -> Service:
    """What the collector is."""
    collecting = (_operation(kind) for kind in KINDS if kind.path)
    return Service(
        title="Tidemark: collection",
        meaning="Takes events, web vitals and errors from trackers and servers. "
        "Every answer says how many requests are left.",
        operations=(*collecting, *TRACKERS, REDIRECT, *HEALTH),
        failure=Refused,
        exceeded=Exceeded,
        ways={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
