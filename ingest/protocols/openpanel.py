"""OpenPanel: one message in each request, with its client id in a header.

https://openpanel.dev/docs/api/track
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs
from starlette.types import Scope

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
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
    object_of,
    page_view,
    read_object,
    text,
)
from schemas.errors import Malformed
from schemas.http.asgi import headers_by_name

CLIENT_ID, SDK_NAME = b"openpanel-client-id", b"openpanel-sdk-name"
TYPES = ("track", "identify", "alias", "increment", "decrement", "group", "assign_group", "replay")
CLIENT_PROPERTIES = {"__path": "path", "__title": "title", "__referrer": "referrer"}
"""Properties that OpenPanel's clients add, with our names."""


def read_message(request: TrackerRequest) -> Messages:
    """`{"type", "payload"}`."""
    body = read_object(request.body, "message")
    if body.get("type") not in TYPES:
        raise Malformed(f"'type' must be one of {', '.join(TYPES)}")
    alias = request.headers.get(CLIENT_ID, b"").decode("latin-1") or None
    message = _message(body["type"], object_of(body.get("payload")))
    is_server = request.headers.get(SDK_NAME) == b"node"
    return Messages(alias, [structs.replace(message, from_server=is_server)])


def _message(message_type: str, payload: Mapping[str, Any]) -> Message:
    profile_id = text(payload.get("profileId"), 128)
    if message_type == "track":
        name = text(payload.get("name"), 256)
        if name is None:
            return Message(invalid="'payload.name' is required in a message of type track")
        return Message([_tracked(name, profile_id, payload)])
    if message_type == "identify":
        if profile_id is None:
            return Message(invalid="'payload.profileId' is required in a message of type identify")
        names = ("firstName", "lastName", "email", "avatar")
        traits = {name: payload[name] for name in names if payload.get(name) is not None}
        traits |= object_of(payload.get("properties"))
        return Message([identity(profile_id, traits or None)])
    if message_type == "alias" and profile_id is not None:
        return Message([identity(profile_id, anonymousId=text(payload.get("alias"), 256))])
    return Message(dropped=message_type)


def _tracked(name: str, profile_id: str | None, payload: Mapping[str, Any]) -> TrackedItem:
    properties = dict(object_of(payload.get("properties")))
    fields: dict[str, Any] = {
        ours: text(properties.pop(theirs, None), 65_536 if ours != "title" else 512)
        for theirs, ours in CLIENT_PROPERTIES.items()
    }
    if (revenue := properties.pop("__revenue", None)) is not None:
        properties["revenue"] = revenue
    fields |= {
        "timestamp": text(properties.pop("__timestamp", None), 64),
        "profileId": profile_id,
        "anonymousId": text(properties.pop("__deviceId", None), 256) or profile_id,
    }
    if name == "screen_view":
        return page_view(**fields, properties=properties or None)
    return event(name, **fields, properties=properties or None)


def reply(_outcome: Outcome) -> Reply:
    """The ids that its clients keep; they are not sent back."""
    return json_reply({"deviceId": "", "sessionId": ""})


def is_openpanel(scope: Scope) -> bool:
    """Whether the request has its header."""
    return CLIENT_ID in headers_by_name(scope)


OPENPANEL = Protocol(
    product="openpanel",
    title="OpenPanel",
    setting="apiUrl: '{url}/openpanel', clientId '{id}'",
    routes=(
        Route(
            path="/track",
            example=Example(
                {
                    "type": "track",
                    "payload": {"name": "Order", "properties": {"__path": "https://shop.example/"}},
                },
                headers={"openpanel-client-id": EXAMPLE_ALIAS},
            ),
            read=read_message,
            reply=reply,
            claim=Claim(is_openpanel),
        ),
    ),
)
