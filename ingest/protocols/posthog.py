"""PostHog: events of its libraries, in the older envelope and in capture v1.

https://posthog.com/docs/api/capture
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
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
    error_report,
    event,
    identity,
    json_reply,
    member,
    number,
    page_exit,
    page_view,
    read_json,
    size_text,
    text,
    web_vital,
)
from schemas.errors import ApiError, Forbidden, Malformed, Unauthorized

DROPPED_EVENTS = {
    "$groupidentify": "group",
    "$feature_flag_called": "feature flag",
    "$$heatmap": "heatmap",
    "$snapshot": "session recording",
    "$performance_event": "performance event",
    "$opt_in": "opt-in",
}
"""Events without a place here, with the name under which they are counted."""
SURVEY_PREFIX = "survey "
VITALS = ("LCP", "CLS", "FCP", "INP")
SERVER_LIBRARIES = (
    *("posthog-node", "posthog-python", "posthog-php", "posthog-ruby", "posthog-go"),
    *("posthog-java", "posthog-rs", "posthog-dotnet", "posthog-elixir", "posthog-edge"),
)
LIBRARY_PROPERTIES = frozenset(
    (
        *("title", "token", "distinct_id", "api_key"),
        *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "fbclid", "msclkid"),
        *("twclid", "li_fat_id", "mc_cid", "igshid", "ttclid", "rdt_cid", "epik", "qclid"),
        *("sccid", "irclid", "_kx", "oppref", "bfcid"),
    )
)
"""What the libraries add, beside what starts with `$` or `utm_`: columns, and click ids."""


def read_events(request: TrackerRequest) -> Messages:
    """One event, an array of them, or `{"api_key", "batch": [...], "sent_at"?}`."""
    body = read_json(request.body if request.body[:1] in b"{[" else form_data(request.body))
    batch = member(body, "batch")
    events = body if isinstance(body, list) else [body] if batch is None else batch
    if not isinstance(events, list) or not events or not isinstance(body, dict | list):
        raise Malformed("'batch' must be an array with at least one event")
    refuse_history(body)
    sent_at = member(body, "sent_at") or number(request.query.get("_"))
    key = token(body) or next(filter(None, map(token, events)), None)
    return Messages(
        key or request.query.get("token"), [read_event(one, sent_at, request) for one in events]
    )


def refuse_history(body: Any) -> None:
    """Malformed for history, whose times would become those of a week ago."""
    if member(body, "historical_migration") is True:
        raise Malformed(
            "'historical_migration' is not supported: `tidemark import` reads an export of PostHog"
        )


def form_data(body: bytes) -> bytes:
    """JSON of a form `data=`, in base64 as beacons have it."""
    try:
        [data, *_] = parse_qs(body.decode(), max_num_fields=10).get("data", [""])
        return base64.b64decode(data.replace(" ", "+")) if data[:1] not in "{[" else data.encode()
    except ValueError:
        raise Malformed("The body must be JSON, or a form with JSON in 'data'") from None


def token(value: Any) -> str | None:
    """The project's token in an envelope or event."""
    names = (("api_key",), ("token",), ("$token",), ("properties", "token"))
    return next(filter(None, (text(member(value, *name), 255) for name in names)), None)


def read_events_v1(request: TrackerRequest) -> Messages:
    """`{"created_at", "batch": [...]}`, with the token in `Authorization: Bearer`."""
    body = read_json(request.body)
    refuse_history(body)
    batch = member(body, "batch")
    if not isinstance(batch, list) or not batch:
        raise Malformed("'batch' must be an array with at least one event")
    scheme, _, key = request.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    sent_at = request.headers.get(b"posthog-request-timestamp", b"").decode("latin-1") or None
    messages = [read_event(as_v0(one, request), sent_at, request) for one in batch]
    uuids = [text(member(one, "uuid"), 255) for one in batch]
    return Messages(key.strip() or None if scheme.lower() == "bearer" else None, messages, uuids)


def as_v0(sent: Any, request: TrackerRequest) -> Any:
    """An event of capture v1 with its facts among the properties, as older libraries send them."""
    if not isinstance(sent, dict):
        return sent
    library = request.headers.get(b"posthog-sdk-info", b"").decode("latin-1").partition("/")[0]
    properties = {
        "$lib": library,
        "$session_id": sent.get("session_id"),
        "$process_person_profile": member(sent, "options", "process_person_profile"),
    }
    return {**sent, "properties": {**properties, **_object(sent.get("properties"))}}


def read_event(sent: Any, sent_at: object, request: TrackerRequest) -> Message:
    """What one event becomes."""
    if not isinstance(sent, dict):
        return Message(invalid="An event must be a JSON object")
    name, properties = text(sent.get("event"), 256), _object(sent.get("properties"))
    if name is None:
        return Message(invalid="'event' is required")
    if dropped := DROPPED_EVENTS.get(name, "survey" if name.startswith(SURVEY_PREFIX) else ""):
        return Message(dropped=dropped)
    common = common_fields(sent, properties, sent_at, request)
    items = EVENT_ITEMS.get(name, custom_event)(name, sent, properties, common)
    if not items:
        return Message(dropped=f"{name} without content")
    return Message(
        items,
        user_agent=text(properties.get("$raw_user_agent"), 512) or "",
        address=text(properties.get("$ip"), 64) or "",
        from_server=from_server(properties),
    )


Fields = dict[str, object]


def common_fields(
    sent: Mapping[str, Any], properties: Mapping[str, Any], sent_at: object, request: TrackerRequest
) -> Fields:
    """Fields of all items."""
    timestamp, offset = sent.get("timestamp"), number(sent.get("offset"))
    if timestamp is None and offset is not None:
        timestamp, sent_at = max(0, round(request.received_ms - offset)), None
    distinct_id = text(sent.get("distinct_id") or properties.get("distinct_id"), 256)
    return {
        "eventId": text(sent.get("uuid"), 512),
        "anonymousId": text(properties.get("$device_id"), 256) or distinct_id,
        "sessionId": text(properties.get("$session_id"), 256),
        "timestamp": timestamp if isinstance(timestamp, str | int | float) else None,
        "sentAt": sent_at if isinstance(sent_at, str | int | float) else None,
    }


def from_server(properties: Mapping[str, Any]) -> bool:
    """Whether a library for servers sent it."""
    library = text(properties.get("$lib"), 64) or ""
    return library in SERVER_LIBRARIES or properties.get("$is_server") is True


def profile_id(sent: Mapping[str, Any], properties: Mapping[str, Any]) -> str | None:
    """The id of the person; servers name persons only, unless they say otherwise."""
    identified = properties.get("$is_identified") is True or (
        from_server(properties) and properties.get("$process_person_profile") is not False
    )
    distinct_id = sent.get("distinct_id") or properties.get("distinct_id")
    return text(properties.get("$user_id") or (distinct_id if identified else None), 128)


def page_fields(properties: Mapping[str, Any]) -> Fields:
    """Fields of events that happen on a page."""
    return {
        "path": text(properties.get("$current_url"), 65_536),
        "title": text(properties.get("title"), 512),
        "timezone": text(properties.get("$timezone"), 64),
    }


def event_fields(sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields) -> Fields:
    """Fields of events and page views."""
    referrer = text(properties.get("$referrer"), 65_536)
    return {
        **common,
        **page_fields(properties),
        "properties": own_properties(properties),
        "profileId": profile_id(sent, properties),
        "referrer": None if referrer == "$direct" else referrer,
        "source": text(properties.get("$lib"), 64),
        "language": text(properties.get("$browser_language"), 64),
        "screen_resolution": size_text(
            properties.get("$screen_width"), properties.get("$screen_height")
        ),
        "viewport_size": size_text(
            properties.get("$viewport_width"), properties.get("$viewport_height")
        ),
        **{name: text(properties.get(name), 256) for name in CAMPAIGN_PROPERTIES},
    }


def own_properties(sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Properties that the application sends; None without any."""
    return {
        name: value
        for name, value in sent.items()
        if value is not None
        and not name.startswith(("$", "utm_"))
        and name not in LIBRARY_PROPERTIES
    } or None


CAMPAIGN_PROPERTIES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def custom_event(
    name: str, sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """An event, and the traits that it sets."""
    item = event(name, **event_fields(sent, properties, common))
    return [item, *traits_of(sent, properties, common)]


def page_viewed(
    name: str, sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """A page view, or the view of a screen."""
    fields = event_fields(sent, properties, common)
    screen = text(properties.get("$screen_name"), 512) if name == "$screen" else None
    if screen:
        fields = {**fields, "path": fields["path"] or f"/{screen.lstrip('/')}", "title": screen}
    items = [page_view(**fields), *traits_of(sent, properties, common)]
    previous = text(properties.get("$prev_pageview_pathname"), 2048)
    if previous and properties.get("$prev_pageview_duration") is not None:
        # Within a single-page application the next page view says it, and there is no $pageleave.
        event_id = common["eventId"] and f"{common['eventId']}-exit"
        left = {**fields, "path": origin_of(fields["path"]) + previous, "title": None}
        items.append(page_end(properties, {**left, "eventId": event_id}))
    return items


def origin_of(url: object) -> str:
    """Scheme and host of a URL; empty without them."""
    parts = str(url).split("/", 3)
    return "/".join(parts[:3]) if len(parts) >= 3 and parts[1] == "" else ""


def page_left(
    _name: str, sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """The end of a page view."""
    return [page_end(properties, event_fields(sent, properties, common))]


def page_end(properties: Mapping[str, Any], fields: Fields) -> TrackedItem:
    """The end of the page view before this event."""
    depth = number(properties.get("$prev_pageview_max_scroll_percentage"))
    return page_exit(
        number(properties.get("$prev_pageview_duration")),
        None if depth is None else depth * 100,
        **{**fields, "properties": None},
    )


def identified(
    _name: str, sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """A visitor that became known, and its traits."""
    return traits_of(sent, {**properties, "$is_identified": True}, common, even_without=True)


def traits_of(
    sent: Mapping[str, Any],
    properties: Mapping[str, Any],
    common: Fields,
    even_without: bool = False,
) -> list[TrackedItem]:
    """The identity with the traits that an event sets; nothing for unknown persons."""
    traits = own_properties(
        {
            **_object(sent.get("$set_once") or properties.get("$set_once")),
            **_object(sent.get("$set") or properties.get("$set")),
        }
    )
    person = profile_id(sent, properties)
    if person is None or not (traits or even_without):
        return []
    anonymous_id = text(properties.get("$anon_distinct_id"), 256)
    device = text(properties.get("$device_id"), 256)
    visitor = device or anonymous_id or common["anonymousId"]
    return [identity(person, traits, **{**common, "anonymousId": visitor})]


def merged(
    _name: str, _sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """Two ids of one person."""
    person, other = (text(properties.get(name), 256) for name in ("distinct_id", "alias"))
    person = person or text(common["anonymousId"], 256)
    if person is None or other is None:
        return []
    return [identity(person[:128], **{**common, "anonymousId": other})]


def exception(
    _name: str, _sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """An error: the first of the chain of exceptions."""
    chain = properties.get("$exception_list")
    first = chain[0] if isinstance(chain, list) and chain else {}
    frames = member(first, "stacktrace", "frames")
    frames = [one for one in frames if isinstance(one, dict)] if isinstance(frames, list) else []
    thrown = frames[-1] if frames else {}
    message = member(first, "value") or properties.get("$exception_message")
    kind = member(first, "type") or properties.get("$exception_type")
    return [
        error_report(
            text(message, 2048) or text(kind, 2048) or "Error",
            **common,
            path=text(properties.get("$current_url"), 65_536),
            timezone=text(properties.get("$timezone"), 64),
            errorType=text(kind, 128),
            filename=text(thrown.get("filename"), 65_536),
            lineno=position(thrown.get("lineno")),
            colno=position(thrown.get("colno")),
            stack=text("\n".join(map(frame_text, reversed(frames[-100:]))), 16_384),
            level=text(properties.get("$exception_level"), 64),
        )
    ]


def frame_text(frame: Mapping[str, Any]) -> str:
    """One line of a stack."""
    name, file = text(frame.get("function"), 256) or "?", text(frame.get("filename"), 2048) or "?"
    places = (position(frame.get("lineno")), position(frame.get("colno")))
    return ":".join([f"at {name} ({file}", *(str(one) for one in places if one is not None)]) + ")"


def position(value: object) -> int | None:
    """A line or column."""
    parsed = number(value)
    return None if parsed is None or not 0 <= parsed < 2**31 else int(parsed)


def vitals(
    _name: str, _sent: Mapping[str, Any], properties: Mapping[str, Any], common: Fields
) -> list[TrackedItem]:
    """The measurements of one page; those of an older page have its address."""
    path = text(properties.get("$current_url"), 65_536) or "/"
    return [
        web_vital(metric, value, **common, path=path)
        for metric in VITALS
        if (value := number(properties.get(f"$web_vitals_{metric}_value"))) is not None
    ]


EventItems = Callable[[str, Mapping[str, Any], Mapping[str, Any], Fields], list[TrackedItem]]
EVENT_ITEMS: Mapping[str, EventItems] = {
    "$pageview": page_viewed,
    "$screen": page_viewed,
    "$pageleave": page_left,
    "$identify": identified,
    "$set": identified,
    "$create_alias": merged,
    "$merge_dangerously": merged,
    "$exception": exception,
    "$web_vitals": vitals,
}
"""Events of PostHog's own; every other one is a custom event."""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def reply(_outcome: Outcome) -> Reply:
    """Browsers take 200 alone as success."""
    return json_reply({"status": "Ok"})


def reply_v1(outcome: Outcome) -> Reply:
    """The result of each event by its uuid."""
    results: dict[str, object] = {}
    for index, (message, uuid) in enumerate(
        zip(outcome.messages.messages, outcome.messages.reply_with, strict=True)
    ):
        if uuid is None:
            continue
        if index in outcome.rejected:
            results[uuid] = {"result": "drop", "details": outcome.rejected[index]}
        elif index in outcome.failed:
            results[uuid] = {"result": "retry", "details": outcome.failed[index].message}
        elif message.dropped:
            results[uuid] = {"result": "warning", "details": f"'{message.dropped}' is not stored"}
        else:
            results[uuid] = {"result": "ok"}
    return json_reply({"results": results})


def error_reply(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """An error as PostHog's server has it; libraries read `detail`."""
    unknown = isinstance(error, Unauthorized | Forbidden)
    kind, code = (
        ("authentication_error", "invalid_api_key")
        if unknown
        else ("server_error", "error")
        if error.status >= 500
        else ("validation_error", "invalid_input")
    )
    body = {"type": kind, "code": code, "detail": error.message, "attr": None}
    return json_reply(body, 401 if unknown else error.status)


REMOTE_CONFIG: Mapping[str, object] = {
    "supportedCompression": ["gzip-js"],
    "hasFeatureFlags": False,
    "sessionRecording": False,
    "surveys": False,
    "heatmaps": False,
    "autocapture_opt_out": True,
    "autocaptureExceptions": False,
    "capturePerformance": False,
    "captureDeadClicks": False,
    "elementsChainAsString": True,
    "isAuthenticated": False,
    "siteApps": [],
    "toolbarParams": {},
    "defaultIdentifiedOnly": True,
}
"""What the server lets the browser's library do: no flags, recordings and surveys."""


def remote_config(request: TrackerRequest) -> Reply:
    """`/array/TOKEN/config`, or the same as a script."""
    parts = request.path.split("/")
    if parts[-1] != "config.js":
        return json_reply(REMOTE_CONFIG)
    entry = json.dumps({"config": REMOTE_CONFIG, "siteApps": []})
    script = (
        "window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};"
        f"window._POSTHOG_REMOTE_CONFIG[{json.dumps(parts[2])}]={entry};"
    )
    return Reply(script.encode(), media_type="application/javascript")


def flags(request: TrackerRequest) -> Reply:
    """No feature flag is set."""
    no_flags: dict[str, object] = {"featureFlags": {}, "featureFlagPayloads": {}, "flags": {}}
    config = REMOTE_CONFIG if request.query.get("config") or "decide" in request.path else {}
    return json_reply({**config, **no_flags, "errorsWhileComputingFlags": False})


EVENT = {
    "event": "Signed Up",
    "distinct_id": "a1",
    "uuid": "0190a3c2-7c1e-7000-8000-000000000001",
    "properties": {"plan": "pro", "$current_url": "https://shop.example/"},
}
POSTHOG = Protocol(
    product="posthog",
    title="PostHog",
    setting="api_host: '{url}' (servers: host), project key '{id}'",
    routes=(
        Route(
            path="/batch/",
            summary="PostHog: a batch of a server",
            example=Example({"api_key": EXAMPLE_ALIAS, "batch": [EVENT]}),
            read=read_events,
            reply=reply,
            error=error_reply,
        ),
        *(
            Route(
                path=path,
                summary="PostHog: events of a browser",
                example=Example({"api_key": EXAMPLE_ALIAS, **EVENT}),
                read=read_events,
                reply=reply,
                error=error_reply,
            )
            for path in ("/e/", "/i/v0/e/", "/capture/")
        ),
        Route(
            path="/i/v1/analytics/events",
            summary="PostHog: a batch, with the result of each event",
            example=Example(
                {"batch": [EVENT]}, headers={"authorization": f"Bearer {EXAMPLE_ALIAS}"}
            ),
            read=read_events_v1,
            reply=reply_v1,
            error=error_reply,
            tells_each=True,
        ),
    ),
    pages=(
        Page(
            path="/array/{token}/config",
            variable="token",
            summary="PostHog: what the browser's library may do; also as config.js",
            reply=remote_config,
        ),
        Page(path="/flags/", methods=("POST",), summary="PostHog: no feature flags", reply=flags),
        Page(path="/decide/", methods=("POST",), summary="PostHog: no feature flags", reply=flags),
        Page(
            path="/s/",
            methods=("POST",),
            summary="PostHog: session recordings, which are dropped",
            reply=lambda _request: json_reply({"status": 1}),
        ),
    ),
)
