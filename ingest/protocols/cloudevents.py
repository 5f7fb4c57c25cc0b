"""CloudEvents over HTTP: binary, structured and batched.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
The website is the alias in `?website_id=`, or that of an API key; the alias `source` will do too.
"""

from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    NO_CONTENT,
    Example,
    Message,
    Messages,
    Outcome,
    Protocol,
    Reply,
    Route,
    TrackerRequest,
    event,
    member,
    read_each,
    read_json,
    text,
)
from schemas.errors import Malformed

STRUCTURED, BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"
REQUIRED = ("id", "source", "type", "specversion")


def read_events(request: TrackerRequest) -> Messages:
    """The events of a request, in any of the three modes."""
    media_type = request.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0]
    if media_type == BATCH:
        events = read_json(request.body)
        if not isinstance(events, list) or not events:
            raise Malformed("A batch must be an array with at least one event")
    elif media_type == STRUCTURED:
        events = [read_json(request.body)]
    elif b"ce-specversion" in request.headers:
        events = [_binary(request)]
    else:
        raise Malformed(
            f"The request has no 'ce-specversion' header and is neither {STRUCTURED} nor {BATCH}"
        )
    messages, alias = read_each(events, _message), request.query.get("website_id")
    if alias is None:
        messages = [
            replace(one, alias=text(member(event, "source"), 255))
            for one, event in zip(messages, events, strict=True)
        ]
    return Messages(alias or messages[0].alias, messages)


def _binary(request: TrackerRequest) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        name[3:].decode("latin-1"): unquote(value.decode("latin-1"))
        for name, value in request.headers.items()
        if name.startswith(b"ce-")
    }
    try:
        data = msgspec.json.decode(request.body) if request.body else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = {"data": request.body.decode("utf-8", "replace")}
    return {**attributes, "data": data}


def _message(sent: Any) -> Message:
    missing = [name for name in REQUIRED if text(member(sent, name), 1) is None]
    if missing:
        return Message(invalid=f"'{missing[0]}' is required in a CloudEvent")
    data = sent.get("data")
    properties = data if isinstance(data, dict) else None if data is None else {"data": data}
    source = text(sent["source"], 200) or ""
    return Message(
        [
            event(
                text(sent["type"], 256),
                eventId=f"{source}:{text(sent['id'], 300)}",
                namespace=source[:64],
                timestamp=text(sent.get("time"), 64),
                anonymousId=text(sent.get("subject"), 256),
                properties=properties,
            )
        ],
        from_server=True,
    )


def reply(_outcome: Outcome) -> Reply:
    """204: any 2xx is success."""
    return NO_CONTENT


CLOUDEVENTS = Protocol(
    product="cloudevents",
    title="CloudEvents",
    setting="POST events to {url}/cloudevents?website_id={id}",
    routes=(
        Route(
            path="/cloudevents",
            example=Example(
                {
                    "specversion": "1.0",
                    "id": "1",
                    "source": "/orders",
                    "type": "com.example.order",
                    "data": {"total": 49.9},
                },
                f"website_id={EXAMPLE_ALIAS}",
                {"content-type": STRUCTURED},
            ),
            read=read_events,
            reply=reply,
        ),
    ),
)
