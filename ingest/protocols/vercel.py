"""Vercel: the drain of Web Analytics, as JSON or NDJSON.

https://vercel.com/docs/drains/reference/analytics
A drain is set up with an API key in a custom header (`Authorization: Bearer …`).
"""

from typing import Any

import msgspec

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Example,
    Message,
    Messages,
    Outcome,
    Protocol,
    Reply,
    Route,
    TrackerRequest,
    event,
    json_reply,
    member,
    page_view,
    read_json,
    text,
)
from schemas.errors import Malformed

_decoder = msgspec.json.Decoder()


def read_drain(request: TrackerRequest) -> Messages:
    """An array of events, or one event in each line."""
    body = request.body.strip()
    if body[:1] == b"[":
        events = read_json(body)
    else:
        try:
            events = _decoder.decode_lines(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Malformed(f"The body must be a JSON array or NDJSON: {error}") from None
    if not isinstance(events, list) or not events:
        raise Malformed("There must be at least one event")
    alias = request.query.get("website_id") or text(member(events[0], "projectId"), 255)
    return Messages(alias, [_message(one) for one in events])


def _message(sent: Any) -> Message:
    if not isinstance(sent, dict):
        return Message(invalid="An event must be a JSON object")
    origin, path = text(sent.get("origin"), 2048) or "", text(sent.get("path"), 65_536) or "/"
    query = text(sent.get("queryParams"), 65_536)
    url = origin + path if origin.startswith("http") else path
    fields: dict[str, Any] = {
        "anonymousId": text(sent.get("deviceId"), 200),
        "sessionId": text(sent.get("sessionId"), 200),
        "timestamp": sent.get("timestamp"),
        "path": url if query is None else f"{url}?{query.lstrip('?')}",
        "referrer": text(sent.get("referrer"), 65_536),
    }
    kind = sent.get("eventType")
    if kind == "pageview":
        return Message([page_view(**fields)])
    name = text(sent.get("eventName"), 256)
    if kind != "event" or name is None:
        return Message(invalid="'eventType' must be pageview, or event with an 'eventName'")
    return Message([event(name, **fields, properties=_data(sent.get("eventData")))])


def _data(value: object) -> object:
    """The data of an event: an object, or the JSON text of one."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return {"data": value}
    return value if isinstance(value, dict) and value else None


def reply(_outcome: Outcome) -> Reply:
    """Any 2xx is success."""
    return json_reply({})


VERCEL = Protocol(
    product="vercel",
    title="Vercel Web Analytics drains",
    setting="a drain of Web Analytics to {url}/vercel/drain?website_id={id}, with the header "
    "Authorization: Bearer KEY",
    routes=(
        Route(
            path="/vercel/drain",
            example=Example(
                [
                    {
                        "schema": "vercel.analytics.v1",
                        "eventType": "pageview",
                        "timestamp": 1795000000000,
                        "projectId": EXAMPLE_ALIAS,
                        "sessionId": 1,
                        "deviceId": 2,
                        "origin": "https://shop.example",
                        "path": "/",
                    }
                ]
            ),
            read=read_drain,
            reply=reply,
        ),
    ),
)
