"""PostHog: events of its libraries, in the older envelope and in capture v1.

https://posthog.com/docs/api/capture
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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
    object_of,
    page_exit,
    page_view,
    position,
    read_each,
    read_json,
    read_json_or_form,
    read_list,
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
"""Events that are dropped, with the name under which the ledger counts them."""
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
    body = read_json_or_form(request)
    batch = member(body, "batch")
    events = body if isinstance(body, list) else [body] if batch is None else batch
    if not isinstance(events, list) or not events or not isinstance(body, dict | list):
        raise Malformed("'batch' must be an array with at least one event")
    sent_at = member(body, "sent_at") or number(request.query.get("_"))
    messages = read_each(events, partial(read_event, sent_at=sent_at, request=request))
    key = token(body)
    if key is None:  # each event has its own
        tokens = list(map(token, events))
        key = next(filter(None, tokens), None)
        messages = [replace(one, alias=own) for one, own in zip(messages, tokens, strict=True)]
    return Messages(key or request.query.get("token"), messages, history=is_history(body))


def is_history(body: Any) -> bool:
    """Whether an envelope is of history."""
    return member(body, "historical_migration") is True


def token(value: Any) -> str | None:
    """The project's token in an envelope or event."""
    names = (("api_key",), ("token",), ("$token",), ("properties", "token"))
    return next(filter(None, (text(member(value, *name), 255) for name in names)), None)


def read_events_v1(request: TrackerRequest) -> Messages:
    """`{"created_at", "batch": [...]}`, with the token in `Authorization: Bearer`."""
    body = read_json(request.body)
    batch = read_list(body, "batch")
    scheme, _, key = request.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    sent_at = request.headers.get(b"posthog-request-timestamp", b"").decode("latin-1") or None
    messages = read_each(batch, lambda one: read_event(as_v0(one, request), sent_at, request))
    uuids = [text(member(one, "uuid"), 255) for one in batch]
    token = key.strip() or None if scheme.lower() == "bearer" else None
    return Messages(token, messages, uuids, is_history(body))


def as_v0(event: Any, request: TrackerRequest) -> Any:
    """An event of capture v1 with its facts among the properties, as older libraries send them."""
    if not isinstance(event, dict):
        return event
    library = request.headers.get(b"posthog-sdk-info", b"").decode("latin-1").partition("/")[0]
    properties = {
        "$lib": library,
        "$session_id": event.get("session_id"),
        "$process_person_profile": member(event, "options", "process_person_profile"),
    }
    return {**event, "properties": {**properties, **object_of(event.get("properties"))}}


Fields = dict[str, object]


class PostHogEvent(Struct, frozen=True):
    """One event of PostHog's, with the fields of all items that it becomes."""

    name: str
    members: Mapping[str, Any]
    properties: Mapping[str, Any]
    common: Fields

    @property
    def distinct_id(self) -> object:
        """The id of the visitor or person."""
        return self.members.get("distinct_id") or self.properties.get("distinct_id")

    @property
    def from_server(self) -> bool:
        """Whether a library for servers sent it."""
        library = text(self.properties.get("$lib"), 64) or ""
        return library in SERVER_LIBRARIES or self.properties.get("$is_server") is True

    @property
    def profile_id(self) -> str | None:
        """The id of the person; `distinct_id` of a server is one unless it says otherwise."""
        identified = (
            self.properties.get("$is_identified") is True
            or self.name in IDENTIFYING_EVENTS
            or (self.from_server and self.properties.get("$process_person_profile") is not False)
        )
        return text(
            self.properties.get("$user_id") or (self.distinct_id if identified else None), 128
        )


def read_event(event: Any, sent_at: object, request: TrackerRequest) -> Message:
    """What one event becomes."""
    if not isinstance(event, dict):
        return Message(invalid="An event must be a JSON object")
    name, properties = text(event.get("event"), 256), object_of(event.get("properties"))
    if name is None:
        return Message(invalid="'event' is required")
    if dropped := DROPPED_EVENTS.get(name, "survey" if name.startswith(SURVEY_PREFIX) else ""):
        return Message(dropped=dropped)
    common = common_fields(event, properties, sent_at, request)
    read = PostHogEvent(name, event, properties, common)
    items = EVENT_ITEMS.get(name, custom_event)(read)
    if not items:
        return Message(dropped=f"{name} without content")
    return Message(
        items,
        user_agent=text(properties.get("$raw_user_agent"), 512) or "",
        address=text(properties.get("$ip"), 64) or "",
        from_server=read.from_server,
    )


def common_fields(
    event: Mapping[str, Any],
    properties: Mapping[str, Any],
    sent_at: object,
    request: TrackerRequest,
) -> Fields:
    """Fields of all items."""
    timestamp, offset = event.get("timestamp"), number(event.get("offset"))
    if timestamp is None and offset is not None:
        timestamp, sent_at = max(0, round(request.received_ms - offset)), None
    distinct_id = text(event.get("distinct_id") or properties.get("distinct_id"), 256)
    return {
        "eventId": text(event.get("uuid"), 512),
        "anonymousId": text(properties.get("$device_id"), 256) or distinct_id,
        "sessionId": text(properties.get("$session_id"), 256),
        "timestamp": timestamp if isinstance(timestamp, str | int | float) else None,
        "sentAt": sent_at if isinstance(sent_at, str | int | float) else None,
    }


def page_fields(properties: Mapping[str, Any]) -> Fields:
    """Fields of everything that happens on a page."""
    return {
        "path": text(properties.get("$current_url"), 65_536),
        "timezone": text(properties.get("$timezone"), 64),
    }


def event_fields(read: PostHogEvent) -> Fields:
    """Fields of events and page views."""
    properties = read.properties
    referrer = text(properties.get("$referrer"), 65_536)
    return {
        **read.common,
        **page_fields(properties),
        "title": text(properties.get("title"), 512),
        "properties": application_properties(properties),
        "profileId": read.profile_id,
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


def application_properties(properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Properties that the application sends, without the library's; None without any."""
    return {
        name: value
        for name, value in properties.items()
        if value is not None
        and not name.startswith(("$", "utm_"))
        and name not in LIBRARY_PROPERTIES
    } or None


CAMPAIGN_PROPERTIES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def custom_event(read: PostHogEvent) -> list[TrackedItem]:
    """An event, and the traits that it sets."""
    return [event(read.name, **event_fields(read)), *traits_of(read)]


def page_viewed(read: PostHogEvent) -> list[TrackedItem]:
    """A page view, or the view of a screen."""
    fields, properties = event_fields(read), read.properties
    screen = text(properties.get("$screen_name"), 512) if read.name == "$screen" else None
    if screen:
        fields = {**fields, "path": fields["path"] or f"/{screen.lstrip('/')}", "title": screen}
    items = [page_view(**fields), *traits_of(read)]
    previous = text(properties.get("$prev_pageview_pathname"), 2048)
    if previous and properties.get("$prev_pageview_duration") is not None:
        # Within a single-page application the next page view has it, and there is no $pageleave.
        event_id = fields["eventId"] and f"{fields['eventId']}-exit"
        left = {**fields, "path": origin_of(fields["path"]) + previous, "title": None}
        items.append(page_end(properties, {**left, "eventId": event_id}))
    return items


def origin_of(url: object) -> str:
    """Scheme and host of a URL; empty without them."""
    parts = str(url).split("/", 3)
    return "/".join(parts[:3]) if len(parts) >= 3 and parts[1] == "" else ""


def page_left(read: PostHogEvent) -> list[TrackedItem]:
    """The end of a page view."""
    return [page_end(read.properties, event_fields(read))]


def page_end(properties: Mapping[str, Any], fields: Fields) -> TrackedItem:
    """The end of the page view before this event."""
    depth = number(properties.get("$prev_pageview_max_scroll_percentage"))
    return page_exit(
        number(properties.get("$prev_pageview_duration")),
        None if depth is None else depth * 100,
        **{**fields, "properties": None},
    )


def traits_of(read: PostHogEvent) -> list[TrackedItem]:
    """The identity of a person with the traits that an event sets; without any, only of `$identify`
    and `$set`."""
    traits = application_properties(
        {
            **object_of(read.members.get("$set_once") or read.properties.get("$set_once")),
            **object_of(read.members.get("$set") or read.properties.get("$set")),
        }
    )
    person = read.profile_id
    if person is None or not (traits or read.name in IDENTIFYING_EVENTS):
        return []
    visitor = text(read.properties.get("$device_id"), 256)
    visitor = visitor or text(read.properties.get("$anon_distinct_id"), 256)
    return [
        identity(
            person, traits, **{**read.common, "anonymousId": visitor or read.common["anonymousId"]}
        )
    ]


def merged(read: PostHogEvent) -> list[TrackedItem]:
    """Two ids of one person."""
    person, other = (text(read.properties.get(name), 256) for name in ("distinct_id", "alias"))
    person = person or text(read.common["anonymousId"], 256)
    if person is None or other is None:
        return []
    return [identity(person[:128], **{**read.common, "anonymousId": other})]


def exception(read: PostHogEvent) -> list[TrackedItem]:
    """An error: the first of the chain of exceptions."""
    properties = read.properties
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
            **read.common,
            **page_fields(properties),
            errorType=text(kind, 128),
            filename=text(thrown.get("filename"), 65_536),
            lineno=position(thrown.get("lineno")),
            colno=position(thrown.get("colno")),
            stack=text("\n".join(map(frame_text, reversed(frames[-100:]))), 16_384),
            level=text(properties.get("$exception_level"), 64),
            release=text(properties.get("$app_version"), 64),
            properties=application_properties(properties),
        )
    ]


def frame_text(frame: Mapping[str, Any]) -> str:
    """One line of a stack, such as `at f (b.js:7:3)`."""
    name, file = text(frame.get("function"), 256) or "?", text(frame.get("filename"), 2048) or "?"
    line, column = position(frame.get("lineno")), position(frame.get("colno"))
    places = ":".join(str(one) for one in (file, line, column) if one is not None)
    return f"at {name} ({places})"


def vitals(read: PostHogEvent) -> list[TrackedItem]:
    """The measurements of one page; those of an older page have its address."""
    path = text(read.properties.get("$current_url"), 65_536) or "/"
    return [
        web_vital(metric, value, **read.common, path=path)
        for metric in VITALS
        if (value := number(read.properties.get(f"$web_vitals_{metric}_value"))) is not None
    ]


IDENTIFYING_EVENTS = ("$identify", "$set")
"""Events whose `distinct_id` is a person's."""
EVENT_ITEMS: Mapping[str, Callable[[PostHogEvent], list[TrackedItem]]] = {
    "$pageview": page_viewed,
    "$screen": page_viewed,
    "$pageleave": page_left,
    "$identify": traits_of,
    "$set": traits_of,
    "$create_alias": merged,
    "$merge_dangerously": merged,
    "$exception": exception,
    "$web_vitals": vitals,
}
"""PostHog's predefined events; every other one is a custom event."""


def reply(_outcome: Outcome) -> Reply:
    """Browsers take 200 alone as success."""
    return json_reply({"status": "Ok"})


def reply_v1(outcome: Outcome) -> Reply:
    """The result of each event by its uuid."""
    uuids = outcome.messages.reply_with
    return json_reply(
        {"results": {uuid: result_v1(outcome, n) for n, uuid in enumerate(uuids) if uuid}}
    )


def result_v1(outcome: Outcome, index: int) -> dict[str, str]:
    """The result of one event."""
    if index in outcome.rejected:
        return {"result": "drop", "details": outcome.rejected[index]}
    if index in outcome.failed:
        return {"result": "retry", "details": outcome.failed[index].message}
    if dropped := outcome.messages.messages[index].dropped:
        return {"result": "warning", "details": f"'{dropped}' is not stored"}
    return {"result": "ok"}


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
EVENT_EXAMPLE = Example({"api_key": EXAMPLE_ALIAS, **EVENT})
POSTHOG = Protocol(
    product="posthog",
    title="PostHog",
    setting="api_host: '{url}' (servers: host), project key '{id}'",
    history="host '{url}', project key '{id}', historical_migration on",
    routes=(
        *(
            Route(path=path, example=example, read=read_events, reply=reply, error=error_reply)
            for path, example in (
                ("/batch/", Example({"api_key": EXAMPLE_ALIAS, "batch": [EVENT]})),
                ("/e/", EVENT_EXAMPLE),
                ("/i/v0/e/", EVENT_EXAMPLE),
                ("/capture/", EVENT_EXAMPLE),
            )
        ),
        Route(
            path="/i/v1/analytics/events",
            example=Example(
                {"batch": [EVENT]}, headers={"authorization": f"Bearer {EXAMPLE_ALIAS}"}
            ),
            read=read_events_v1,
            reply=reply_v1,
            error=error_reply,
            replies_each=True,
        ),
    ),
    pages=(
        Page(
            path="/array/{token}/config",
            reply=remote_config,
        ),
        Page(path="/flags/", methods=("POST",), reply=flags),
        Page(path="/decide/", methods=("POST",), reply=flags),
        Page(
            path="/s/",
            methods=("POST",),
            reply=lambda _request: json_reply({"status": 1}),
        ),
    ),
)
