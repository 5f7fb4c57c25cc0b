"""The collector as an OpenAPI document: a route per kind of item, the redirect, the health."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ingest.bounds import ITEMS, KEY, PROPERTIES
from ingest.decode import Rejected
from schemas.edge.health import OPERATIONS as HEALTH
from schemas.failures import (
    Failure,
    Forbidden,
    LimitExceeded,
    Malformed,
    NoneAccepted,
    NotFound,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
    Unconfirmed,
)
from schemas.items import Item
from schemas.kinds import KINDS, Kind
from schemas.openapi import Answer, Operation, Parameter, Service

PropertyName = Annotated[str, Meta(max_length=KEY)]
Properties = Annotated[
    dict[PropertyName, Any],
    Meta(max_length=PROPERTIES, description="free-form; values may be nested"),
]


class Refused(Struct):
    """A refusal; `rejected` names each item when none of a batch was good."""

    status: Literal["error"]
    message: str
    code: str


class Exceeded(Struct, rename="camel"):
    """The allowance of this window is used up."""

    status: Literal["error"]
    success: Literal[False]
    message: str
    error: str
    code: Literal["RATE_LIMIT_EXCEEDED"]
    limit: int
    remaining: int
    reset: str
    retry_after: int


class Taken(Struct):
    """So many items are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: str
    count: int
    receipt: Annotated[
        str, Meta(description="opaque; what became of the items: GET /v1/receipts/{receipt}")
    ]
    rejected: list[Rejected] = []


REFUSED: tuple[type[Failure], ...] = (
    Malformed,
    NoneAccepted,
    Unauthorized,
    Forbidden,
    TooSlow,
    TooLarge,
    LimitExceeded,
    Unavailable,
    Unconfirmed,
)

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
}


def shown(item: type[Item]) -> Any:
    """The item as the document shows it: `properties` as an object rather than as bytes."""
    if "properties" not in item.__struct_fields__:
        return item
    return msgspec.defstruct(
        item.__name__,
        [("properties", Properties | None, None)],
        bases=(item,),
        rename="camel",
        kw_only=True,
        namespace={"__doc__": item.__doc__},
    )


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
        parameters=(
            Parameter("website_id", "the website; enough to send from a page"),
            Parameter("client_id", "the same"),
        ),
        body=many if kind.batch_only else item | many,
        examples=EXAMPLES[kind.path],
        answers=(Answer(200, "taken", Taken),),
        failures=REFUSED,
        keys=({"website": ()}, {"client": ()}, {"key": ()}, {"bearer": ()}),
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
        operations=(*collecting, REDIRECT, *HEALTH),
        failure=Refused,
        exceeded=Exceeded,
        ways={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
