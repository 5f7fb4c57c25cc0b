"""RudderStack: Segment's messages, with the replies of RudderStack's gateway.

Its paths are Segment's, so all are behind the prefix.
https://www.rudderstack.com/docs/api/http-api/
"""

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Example,
    Outcome,
    Page,
    Protocol,
    Reply,
    Route,
    TrackerRequest,
    json_reply,
    text_reply,
)
from ingest.protocols.segment import (
    BATCH_EXAMPLE,
    TYPES,
    message_routes,
    read_batch,
    read_history,
)
from schemas.errors import (
    ApiError,
    Forbidden,
    PayloadTooLarge,
    RateLimitExceeded,
    Unauthorized,
)

ERRORS: tuple[tuple[type[ApiError], int, str], ...] = (
    (Unauthorized, 401, "failed to read writekey from header"),
    (Forbidden, 401, "invalid write key"),
    (PayloadTooLarge, 413, "request size exceeds max limit"),
    (RateLimitExceeded, 429, "max requests limit reached"),
)
"""Status and text of the gateway; every other error has our message."""


def reply(_outcome: Outcome) -> Reply:
    """What the gateway replies."""
    return text_reply("ok")


def source_config(request: TrackerRequest) -> Reply:
    """What the script for browsers reads before it sends: no destination, and no reports."""
    key = request.query.get("writeKey", "")
    reports = {"errors": {"enabled": False}, "metrics": {"enabled": False}}
    source = {
        **{"id": key, "name": "", "writeKey": key, "workspaceId": "", "enabled": True},
        **{"config": {"statsCollection": reports}, "destinations": [], "dataplanes": {}},
    }
    return json_reply({"source": source})


def error_reply(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """The gateway's text of an error, followed by our message."""
    for kind, status, text in ERRORS:
        if isinstance(error, kind):
            return text_reply(f"{text}: {error.message}", status)
    return text_reply(error.message, error.status)


RUDDERSTACK = Protocol(
    product="rudderstack",
    title="RudderStack",
    setting="dataPlaneUrl: '{url}/rudderstack' (browsers: configUrl too), write key '{id}'",
    history="write key '{id}', POST {url}/rudderstack/v1/import",
    routes=(
        Route(
            path="/rudderstack/v1/batch",
            example=BATCH_EXAMPLE,
            read=read_batch,
            reply=reply,
            error=error_reply,
        ),
        Route(
            path="/rudderstack/v1/import",
            example=BATCH_EXAMPLE,
            read=read_history,
            reply=reply,
            error=error_reply,
        ),
        Route(
            path="/rudderstack/beacon/v1/batch",
            example=Example(
                {"batch": [{"type": "track", "event": "Left", "anonymousId": "a1"}]},
                query=f"writeKey={EXAMPLE_ALIAS}",
            ),
            read=read_batch,
            reply=reply,
            error=error_reply,
        ),
        *message_routes(
            {f"/rudderstack/v1/{message_type}": message_type for message_type in TYPES},
            reply,
            error_reply,
        ),
    ),
    pages=(Page(path="/rudderstack/sourceConfig/", reply=source_config),),
)
