"""Mixpanel: events and profiles of its clients.

https://developer.mixpanel.com/reference/track-event
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from msgspec.structs import replace
from starlette.types import Scope

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    MAX_LISTED,
    Claim,
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
    identity,
    json_reply,
    member,
    number,
    object_of,
    page_view,
    read_each,
    read_json,
    read_json_or_form,
    require_few,
    size_text,
    text,
    text_reply,
)
from schemas.errors import ApiError, Malformed, NoneAccepted
from schemas.http.asgi import headers_by_name
from schemas.registry.api_keys import parse_key

PAGE_VIEW = "$mp_web_page_view"
DROPPED = {
    "$mp_session_record": "session_replay",
    "$experiment_started": "feature_flag",
}
DEVICE = "$device:"
"""Prefix of the `distinct_id` of an anonymous visitor."""
CONTEXT = frozenset(("token", "time", "distinct_id", "mp_lib", "mp_country_code"))
"""Properties of the client and the visitor, not of the event."""
SERVER_LIBRARIES = ("node", "python", "php", "ruby", "java", "go", "jdk")
"""Values of `mp_lib` of its libraries for servers; batches of Node's have none."""
PROFILE_OPERATIONS = ("$set", "$set_once")


def read_track(request: TrackerRequest) -> Messages:
    """An event or an array of events: JSON, or `data=` of a form or query string."""
    return _read_events(read_json_or_form(request), _is_verbose(request))


def _read_events(data: Any, reply_with: Any) -> Messages:
    events = data if isinstance(data, list) else [data]
    if not events:
        raise Malformed("There must be at least one event")
    return _messages(read_each(events, _message), reply_with)


def _messages(messages: Sequence[Message], reply_with: Any) -> Messages:
    """Those of a request; the first token is that of messages without one."""
    first = next((one.alias for one in messages if one.alias), None)
    return Messages(first, messages, reply_with)


def read_import(request: TrackerRequest) -> Messages:
    """History: an array of events, one event per line, or `data=` of a form.

    The API key is the secret of the project or of a service account, or the token.
    """
    body = request.body.strip()
    if body[:1] in (b"[", b"{"):
        data = read_json(body) if body[:1] == b"[" else _read_lines(body)
        require_few(len(data))
        insert_ids = [text(member(one, "properties", "$insert_id"), 255) for one in data]
        messages = _read_events(data, insert_ids)
    else:
        messages = read_track(request)
    secrets = (*(request.basic or ()), messages.alias or "")
    key = next((one for one in secrets if parse_key(one)), None)
    if key is None:
        return replace(messages, history=True)
    if len({one.alias for one in messages.messages if one.alias}) > 1:
        raise Malformed("Events of history in one request must have the same 'token'")
    sent = [replace(one, alias=None) for one in messages.messages]
    return replace(messages, alias=key, messages=sent, history=True)


def _read_lines(body: bytes) -> list[Any]:
    lines = [line for line in body.splitlines() if line.strip()]
    require_few(len(lines))
    return [read_json(line) for line in lines]


def read_profiles(request: TrackerRequest) -> Messages:
    """Changes of profiles: traits of `$set` and `$set_once`."""
    data = read_json_or_form(request)
    changes = data if isinstance(data, list) else [data]
    if not changes:
        raise Malformed("There must be at least one change of a profile")
    return _messages(read_each(changes, _profile), _is_verbose(request))


def _is_verbose(request: TrackerRequest) -> bool:
    if request.query.get("verbose") == "1":
        return True
    return request.body[:1] not in (b"[", b"{") and b"verbose=1" in request.body.split(b"&")


def _message(sent: Any) -> Message:
    properties = object_of(member(sent, "properties"))
    return replace(_event(sent, properties), alias=text(properties.get("token"), 255))


def _event(sent: Any, properties: Mapping[str, Any]) -> Message:
    name = text(member(sent, "event"), 256)
    if name is None:
        return Message(invalid="'event' is required")
    if reason := DROPPED.get(name):
        return Message(dropped=reason)
    items = [_item(name, properties)]
    address = text(properties.get("ip") or properties.get("$ip"), 64) or ""
    library = text(properties.get("mp_lib"), 64)
    from_server = library is None or library in SERVER_LIBRARIES
    return Message(items, address=address, from_server=from_server)


def _item(name: str, properties: Mapping[str, Any]) -> TrackedItem:
    if name == "$create_alias":
        return identity(
            text(properties.get("alias"), 128),
            anonymousId=_visitor(properties.get("distinct_id")),
            timestamp=_milliseconds(properties.get("time")),
        )
    if name == "$identify":
        return identity(
            text(properties.get("$identified_id") or properties.get("distinct_id"), 128),
            anonymousId=_visitor(properties.get("$anon_id") or properties.get("$device_id")),
            timestamp=_milliseconds(properties.get("time")),
        )
    distinct = text(properties.get("distinct_id"), 256)
    user = properties.get("$user_id") or _user(distinct, properties)
    insert_id, visitor = text(properties.get("$insert_id"), 200), _visitor(distinct)
    fields: dict[str, Any] = {
        "eventId": insert_id and f"{visitor or ''}:{insert_id}",
        "anonymousId": text(properties.get("$device_id"), 256) or visitor,
        "profileId": text(user, 128),
        "timestamp": _milliseconds(properties.get("time")),
        "path": text(properties.get("$current_url") or properties.get("current_url_path"), 65_536),
        "referrer": text(properties.get("$referrer"), 65_536),
        "title": text(properties.get("current_page_title"), 512),
        "source": text(properties.get("mp_lib"), 64),
        "screen_resolution": size_text(
            properties.get("$screen_width"), properties.get("$screen_height")
        ),
        **{
            f"utm_{one}": text(properties.get(f"utm_{one}"), 256)
            for one in ("source", "medium", "campaign", "term", "content")
        },
    }
    if name == PAGE_VIEW:
        return page_view(**fields)
    given = {
        key: value
        for key, value in properties.items()
        if key not in CONTEXT and not key.startswith(("$", "utm_", "current_"))
    }
    return event(name, **fields, properties=given or None)


def _user(distinct: str | None, properties: Mapping[str, Any]) -> str | None:
    """The `distinct_id` of an event without a device, unless its prefix says that it is one."""
    if distinct is None or distinct.startswith(DEVICE) or "$device_id" in properties:
        return None
    return distinct


def _visitor(distinct: object) -> str | None:
    visitor = text(distinct, 256)
    return visitor and (visitor.removeprefix(DEVICE) or None)


def _milliseconds(time: object) -> int | None:
    """Mixpanel's time: Unix seconds, of newer clients milliseconds."""
    value = number(time)
    if value is None:
        return None
    return round(value * 1000 if value < 100_000_000_000 else value)


def _profile(change: Any) -> Message:
    return replace(_profile_change(change), alias=text(member(change, "$token"), 255))


def _profile_change(change: Any) -> Message:
    user = text(member(change, "$distinct_id"), 128)
    if user is None:
        return Message(invalid="'$distinct_id' is required")
    traits: dict[str, Any] = {}
    for operation in reversed(PROFILE_OPERATIONS):
        traits |= object_of(member(change, operation))
    if not traits:
        return Message(dropped="profile_operation")
    if user.startswith(DEVICE):  # a visitor without a profile
        return Message(dropped="profile_of_a_device")
    device = text(member(change, "$device_id"), 256)
    time = _milliseconds(member(change, "$time"))
    item = identity(user, traits, anonymousId=device, timestamp=time)
    return Message([item], from_server=device is None)


def is_form(body: bytes) -> bool:
    """Whether a body is a form: curl calls JSON one too, unless it is told otherwise."""
    return body.lstrip()[:1] not in (b"{", b"[") and b"data=" in body


def is_mixpanel(scope: Scope) -> bool:
    """Our own requests to this path are JSON in a POST; Mixpanel's are forms, or images."""
    if scope["method"] == "GET":
        return b"data=" in scope["query_string"]
    content = headers_by_name(scope).get(b"content-type", b"")
    return content.startswith(b"application/x-www-form-urlencoded")


def is_import(scope: Scope) -> bool:
    """Our own imports are named in the query string; Mixpanel's have HTTP Basic, or are forms."""
    if b"import_id=" in scope["query_string"]:
        return False
    headers = headers_by_name(scope)
    form = headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
    authorization = headers.get(b"authorization", b"")
    return authorization[:6].lower() == b"basic " or (
        form and not authorization and b"x-api-key" not in headers
    )


def import_reply(outcome: Outcome) -> Reply:
    """The number of events, and what is wrong with others unless they asked not to know."""
    insert_ids = outcome.messages.reply_with
    if not isinstance(insert_ids, list):
        return reply(outcome)
    failed = [
        {"index": index, "insert_id": insert_ids[index], "field": "", "message": message}
        for index, message in outcome.listed.items()
    ]
    if not failed or outcome.request.query.get("strict") == "0":
        return json_reply({"code": 200, "num_records_imported": outcome.accepted, "status": "OK"})
    return json_reply(
        {
            "code": 400,
            "error": "some data points in the request failed validation",
            "failed_records": failed,
            "num_records_imported": outcome.accepted,
            "status": "Bad Request",
        },
        400,
    )


def import_error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """Nothing was imported."""
    body = {
        "code": error.status,
        "error": error.message,
        "num_records_imported": 0,
        "status": HTTPStatus(error.status).phrase,
    }
    if isinstance(error, NoneAccepted):
        body["failed_records"] = [
            {"index": one.index, "insert_id": "", "field": "", "message": one.message}
            for one in error.details["rejected"][:MAX_LISTED]
        ]
    return json_reply(body, error.status)


def reply(outcome: Outcome) -> Reply:
    """`1`, or the same as JSON if the client asked for it."""
    if outcome.messages.reply_with:
        return json_reply({"status": 1, "error": None})
    return text_reply("1")


def error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """Its clients read `error` and `status`; the HTTP status says the same."""
    return json_reply({"status": 0, "error": error.message}, error.status)


TRACK_EXAMPLE = Example(
    [
        {
            "event": "Order",
            "properties": {
                "token": EXAMPLE_ALIAS,
                "distinct_id": "$device:d1",
                "$device_id": "d1",
                "$insert_id": "i1",
                "total": 49.9,
            },
        }
    ]
)
PROFILE_EXAMPLE = Example(
    [{"$token": EXAMPLE_ALIAS, "$distinct_id": "u1", "$set": {"plan": "pro"}}]
)

MIXPANEL = Protocol(
    product="mixpanel",
    title="Mixpanel",
    setting="api_host: '{url}' (servers: host {host}), token '{id}'",
    history="import_url '{url}/import' (POST, HTTP Basic), secret of the project '{id}'",
    routes=(
        *(
            Route(
                path=path,
                methods=("GET", "POST"),
                example=TRACK_EXAMPLE,
                read=read_track,
                reply=reply,
                error=error,
                claim=Claim(is_mixpanel, is_form) if path == "/track" else None,
            )
            for path in ("/track", "/track/")
        ),
        *(
            Route(
                path=path,
                methods=("GET", "POST"),
                example=PROFILE_EXAMPLE,
                read=read_profiles,
                reply=reply,
                error=error,
            )
            for path in ("/engage", "/engage/")
        ),
        Route(
            path="/import",
            example=TRACK_EXAMPLE,
            read=read_import,
            reply=import_reply,
            error=import_error,
            claim=Claim(is_import),
        ),
    ),
)
