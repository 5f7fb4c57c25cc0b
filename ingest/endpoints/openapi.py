"""The collector as an OpenAPI document: a route per kind of item, the redirect, the health."""

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from ingest.decoding.limits import MAX_ITEMS
from ingest.endpoints.debug import DEBUG_PATH
from ingest.endpoints.responses import (
    COLLECT_ERRORS,
    CollectErrorBody,
    CollectRateLimitBody,
    CollectResponse,
    DebugResponse,
)
from ingest.endpoints.robots import ROBOTS_OPERATIONS as ROBOTS
from ingest.endpoints.scripts import SCRIPT_OPERATIONS as SCRIPTS
from ingest.endpoints.tracker_operations import (
    SECURITY,
    TRACKER_OPERATIONS,
    WEBSITE_PARAMETERS,
    documented_item,
)
from ingest.endpoints.wait_for_storage import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS
from ingest.links.described import LINK_OPERATIONS as LINKS
from ingest.shown_history import IMPORT_OPERATION
from schemas.errors import (
    Forbidden,
    Malformed,
    RateLimitExceeded,
    Unauthorized,
    Unavailable,
)
from schemas.http.health import HEALTH_OPERATIONS as HEALTH
from schemas.http.openapi import ApiDescription, Operation, Parameter, Response
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
    item = documented_item(kind.item)
    many = Annotated[list[item], Meta(min_length=1, max_length=MAX_ITEMS)]  # type: ignore[valid-type]
    return Operation(
        method="POST",
        path=kind.path,
        operation_id=kind.path[1:],
        tag="Collect",
        summary=f"Send items of the kind {kind.name}",
        description=f"At most {MAX_ITEMS} in one request. Success means that they are kept. "
        "An item with an eventId that was sent before is kept once.",
        parameters=WEBSITE_PARAMETERS,
        body=many if kind.batch_only else item | many,
        examples=EXAMPLES[kind.path],
        responses=(Response(200, "taken", CollectResponse),),
        errors=COLLECT_ERRORS,
        security=SECURITY,
    )


WAIT_PARAMETERS = (
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
            "maximum": MAX_TIMEOUT_SECONDS,
            "default": DEFAULT_TIMEOUT_SECONDS,
        },
    ),
)


def with_wait(operation: Operation) -> Operation:
    """An operation that can be waited for."""
    late = replace(operation.responses[0], status=202, description="taken, and not stored in time")
    return replace(
        operation,
        parameters=(*operation.parameters, *WAIT_PARAMETERS),
        responses=(*operation.responses, late),
    )


DEBUG_OPERATION = Operation(
    method="GET",
    path=DEBUG_PATH,
    operation_id="debug",
    tag="Collect",
    summary="Show the last items received for a website, accepted or not and why",
    description="The key needs `read:data`. With `follow=1` they come from the oldest on, and "
    "then as "
    "they are received, a line of JSON each; an empty line when nothing came for a while. Each "
    "collector process shows what it received itself, since its start.",
    parameters=(
        Parameter("website_id", "the website"),
        Parameter("follow", "whether to go on", {"type": "string", "enum": ["0", "1"]}),
    ),
    responses=(
        Response(200, "what was received", DebugResponse, media_types=("application/x-ndjson",)),
    ),
    errors=(Malformed, Unauthorized, Forbidden, RateLimitExceeded, Unavailable),
)


def collector_api() -> ApiDescription:
    """What the collector is."""
    collecting = (*(_operation(kind) for kind in KINDS if kind.path), *TRACKER_OPERATIONS)
    return ApiDescription(
        title="Tidemark: collection",
        description="Takes events, web vitals and errors from trackers and servers. "
        "Every answer says how many requests are left.",
        operations=(
            *map(with_wait, collecting),
            IMPORT_OPERATION,
            DEBUG_OPERATION,
            *LINKS,
            *ROBOTS,
            *SCRIPTS,
            *HEALTH,
        ),
        error_body=CollectErrorBody,
        rate_limit_body=CollectRateLimitBody,
        security_schemes={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
