"""Segment: messages of the Tracking API, one per request or in batches.

RudderStack and Jitsu send the same messages. https://segment.com/docs/connections/spec/
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec.structs import replace

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    ErrorReply,
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
    object_of,
    our_error,
    page_view,
    read_each,
    read_json,
    read_list,
    read_object,
    size_text,
    text,
)
from schemas.errors import Malformed

TYPES = ("track", "page", "screen", "identify", "group", "alias")
DROPPED_TYPES = {"group": "group"}
"""Types without a place here, with the name under which they are counted."""
BROWSER_PATHS = {
    "/v1/t": "track",
    "/v1/p": "page",
    "/v1/i": "identify",
    "/v1/g": "group",
    "/v1/a": "alias",
    "/v1/s": "screen",
}
"""Paths of analytics.js, with the type of their one message."""


def read_batch(request: TrackerRequest) -> Messages:
    """`{"batch": [...], "writeKey"?, "sentAt"?, "context"?}`."""
    body = read_json(request.body)
    batch = read_list(body, "batch", "message")
    shared = {name: body[name] for name in ("sentAt", "context") if name in body}
    return Messages(
        write_key(request, body),
        read_each(
            batch, lambda one: read_message({**shared, **one} if isinstance(one, dict) else one)
        ),
    )


def read_history(request: TrackerRequest) -> Messages:
    """The same, as history."""
    return replace(read_batch(request), history=True)


def reads_one(message_type: str | None = None) -> Callable[[TrackerRequest], Messages]:
    """Reads a body that is one message, of this type unless it has another one itself."""

    def read(request: TrackerRequest) -> Messages:
        body = read_object(request.body, "message")
        return Messages(write_key(request, body), [read_message({"type": message_type, **body})])

    return read


def write_key(request: TrackerRequest, body: Mapping[str, Any]) -> str | None:
    """The write key: of HTTP Basic, of the body, or of the query string."""
    if request.basic is not None:
        return request.basic[0]
    return text(body.get("writeKey"), 255) or request.query.get("writeKey")


def read_message(message: Any) -> Message:
    """One message of any type."""
    if not isinstance(message, dict):
        return Message(invalid="A message must be a JSON object")
    message_type = message.get("type")
    if message_type not in TYPES:
        return Message(invalid=f"'type' must be one of {', '.join(TYPES)}")
    if reason := DROPPED_TYPES.get(message_type):
        return Message(dropped=reason)
    context = message.get("context")
    try:
        items = MESSAGE_ITEMS[message_type](message)
    except Malformed as error:
        return Message(invalid=error.message)
    return Message(
        items,
        user_agent=text(member(context, "userAgent"), 512) or "",
        address=text(member(context, "ip"), 64) or "",
        from_server=_from_server(member(context, "library")),
    )


def _from_server(library: Any) -> bool:
    """Whether the library runs on servers."""
    name = text(member(library, "name"), 64) or ""
    # Jitsu's is the same in browsers.
    return name.startswith(SERVER_LIBRARIES) or member(library, "env") == "node"


SERVER_LIBRARIES = (
    *("@segment/analytics-node", "analytics-node", "analytics-python", "analytics-ruby"),
    *("analytics-go", "analytics-php", "analytics-java", "analytics-rust", "Analytics.NET"),
)
"""Names of Segment's and RudderStack's libraries for servers; they differ in what follows."""


def _track(message: Mapping[str, Any]) -> list[TrackedItem]:
    name = text(message.get("event"), 256)
    if name is None:
        raise Malformed("'event' is required in a message of type track")
    return [event(name, **_fields(message))]


def _page(message: Mapping[str, Any]) -> list[TrackedItem]:
    name = text(message.get("name"), 512) or text(member(message, "properties", "name"), 512)
    fields = _fields(message)
    title = text(member(message, "properties", "title"), 512)
    page_title = text(member(message, "context", "page", "title"), 512)
    return [page_view(**{**fields, "title": title or page_title or name})]


def _identify(message: Mapping[str, Any]) -> list[TrackedItem]:
    profile_id = text(message.get("userId"), 128)
    if profile_id is None:
        # Traits of a visitor that has no id yet: there is no profile to keep them for.
        raise Malformed("'userId' is required in a message of type identify")
    # RudderStack's Python client has them in the context only.
    traits = object_of(message.get("traits")) or object_of(member(message, "context", "traits"))
    return [identity(profile_id, traits or None, **_common(message))]


def _alias(message: Mapping[str, Any]) -> list[TrackedItem]:
    profile_id, previous = text(message.get("userId"), 128), text(message.get("previousId"), 256)
    if profile_id is None or previous is None:
        raise Malformed("'userId' and 'previousId' are required in a message of type alias")
    return [identity(profile_id, **{**_common(message), "anonymousId": previous})]


MESSAGE_ITEMS: Mapping[str, Callable[[Mapping[str, Any]], list[TrackedItem]]] = {
    "track": _track,
    "page": _page,
    "screen": _page,
    "identify": _identify,
    "alias": _alias,
}


def _common(message: Mapping[str, Any]) -> dict[str, object]:
    """Fields of all items."""
    session = member(message, "context", "sessionId")
    return {
        "eventId": text(message.get("messageId"), 512),
        "anonymousId": text(message.get("anonymousId"), 256) or text(message.get("userId"), 256),
        "sessionId": text(session, 256),
        "timestamp": message.get("timestamp") or message.get("originalTimestamp"),
        "sentAt": message.get("sentAt"),
    }


def _fields(message: Mapping[str, Any]) -> dict[str, object]:
    """Fields of events and page views."""
    context, properties = message.get("context"), object_of(message.get("properties"))
    page, campaign = member(context, "page"), member(context, "campaign")
    url = text(member(properties, "url"), 65_536) or text(member(page, "url"), 65_536)
    path = url or text(member(page, "path"), 65_536) or _screen(message)
    referrer = member(properties, "referrer") or member(page, "referrer")
    return {
        **_common(message),
        "properties": properties or None,
        "profileId": text(message.get("userId"), 128),
        "path": path,
        "title": text(member(page, "title"), 512),
        "referrer": text(referrer, 65_536),
        "source": text(member(context, "library", "name"), 64),
        "language": text(member(context, "locale"), 64),
        "timezone": text(member(context, "timezone"), 64),
        "screen_resolution": size_text(
            member(context, "screen", "width"), member(context, "screen", "height")
        ),
        **(_campaign(campaign) if campaign and not _names_campaign(url) else {}),
    }


def _campaign(campaign: object) -> dict[str, object]:
    """The campaign that the context names."""
    return {f"utm_{ours}": text(member(campaign, theirs), 256) for ours, theirs in CAMPAIGN_MEMBERS}


CAMPAIGN_MEMBERS = (
    ("source", "source"),
    ("medium", "medium"),
    ("campaign", "name"),
    ("term", "term"),
    ("content", "content"),
)


def _names_campaign(url: str | None) -> bool:
    """Whether the URL has campaign parameters itself, from which they are read then."""
    try:
        return url is not None and "utm_source" in parse_qs(urlsplit(url).query)
    except ValueError:
        return False


def _screen(message: Mapping[str, Any]) -> str | None:
    """The path of a screen of an app: its name."""
    name = text(message.get("name"), 2048) if message.get("type") == "screen" else None
    return name and f"/{name.lstrip('/')}"


def reply(_outcome: Outcome) -> Reply:
    """What Segment's own server replies; its clients read the status only."""
    return json_reply({"success": True})


def settings(request: TrackerRequest) -> Reply:
    """What analytics.js reads before it sends: where to, and no other destination."""
    key = request.path.split("/")[3]
    host = request.headers.get(b"host", b"").decode("latin-1")
    return json_reply(
        {
            "integrations": {
                "Segment.io": {
                    "apiKey": key,
                    "apiHost": f"{host}/v1",
                    "unbundledIntegrations": [],
                    "addBundledMetadata": True,
                    "maybeBundledConfigIds": {},
                    "versionSettings": {"version": "4.4.7", "componentTypes": ["browser"]},
                }
            },
            "plan": {"track": {"__default": {"enabled": True, "integrations": {}}}},
            "edgeFunction": {},
            "analyticsNextEnabled": True,
            "enabledMiddleware": {},
            "metrics": {"sampleRate": 0},
            "legacyVideoPluginsEnabled": False,
            "remotePlugins": [],
        }
    )


EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "track": {"event": "Order Completed", "anonymousId": "a1", "properties": {"total": 49.9}},
    "page": {"name": "Home", "anonymousId": "a1", "properties": {"url": "https://shop.example/"}},
    "screen": {"name": "Home", "anonymousId": "a1"},
    "identify": {"userId": "u1", "anonymousId": "a1", "traits": {"plan": "pro"}},
    "group": {"groupId": "g1", "userId": "u1"},
    "alias": {"userId": "u1", "previousId": "a1"},
}
"""One message of each type."""
BATCH_EXAMPLE = Example(
    {
        "writeKey": EXAMPLE_ALIAS,
        "batch": [{"type": name, **message} for name, message in EXAMPLES.items()],
    }
)


def message_routes(
    types_by_path: Mapping[str, str],
    reply_as: Callable[[Outcome], Reply],
    error_as: ErrorReply = our_error,
) -> list[Route]:
    """Routes that are sent one message of a type each."""
    return [
        Route(
            path=path,
            example=Example({**EXAMPLES[message_type], "writeKey": EXAMPLE_ALIAS}),
            read=reads_one(message_type),
            reply=reply_as,
            error=error_as,
        )
        for path, message_type in types_by_path.items()
    ]


SEGMENT = Protocol(
    product="segment",
    title="Segment",
    setting="browser: cdnURL '{url}' and writeKey '{id}'; servers: host '{url}'",
    history="write key '{id}', path '/v1/import' (POST {url}/v1/import)",
    routes=(
        Route(
            path="/v1/batch",
            example=BATCH_EXAMPLE,
            read=read_batch,
            reply=reply,
        ),
        Route(path="/v1/import", example=BATCH_EXAMPLE, read=read_history, reply=reply),
        *message_routes({f"/v1/{one}": one for one in TYPES} | BROWSER_PATHS, reply),
    ),
    pages=(
        Page(
            path="/v1/projects/{key}/settings",
            reply=settings,
        ),
        Page(
            path="/v1/m",
            methods=("POST",),
            reply=lambda _request: json_reply({"success": True}),
        ),
    ),
)
