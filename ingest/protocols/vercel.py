"""Vercel: the drain of Web Analytics, as JSON or NDJSON.

https://vercel.com/docs/drains/reference/analytics
Its address names the website, and its secret is derived from the name: nothing is stored, and a
drain that does not sign with it is refused. Vercel looks at the address when a drain is set up: its
reply must have the code that Vercel shows then, which is in the address or in the request.
"""

import hashlib
import hmac
import re
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
    page_view,
    read_each,
    read_json,
    text,
)
from schemas.errors import Forbidden, Malformed

CODE = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""The code that Vercel looks for when a drain is set up."""
NOT_SIGNED = (
    "'x-vercel-signature' must be the HMAC-SHA1 of the body with the secret that "
    "`tidemark adopt vercel WEBSITE` prints"
)

_decoder = msgspec.json.Decoder()


def drain_secret(alias: str, secret: bytes) -> str:
    """The secret of the drain of an alias, with that of the installation."""
    return hashlib.blake2s(alias.encode(), key=secret, digest_size=20).hexdigest()


def verify_drain(request: TrackerRequest, secret: bytes) -> Reply | None:
    """The reply to Vercel's look at the address; Forbidden for messages that are not signed."""
    given = request.headers.get(b"x-vercel-signature")
    code = request.headers.get(b"x-vercel-verify", b"").decode("latin-1") or request.query.get(
        "verify", ""
    )
    if given is None and code and (not request.body or b"x-vercel-verify" in request.headers):
        if not CODE.fullmatch(code):
            raise Malformed("The code must have up to 128 letters, digits, '-' and '_'")
        return Reply(b"{}", headers=((b"x-vercel-verify", code.encode()),))
    key = drain_secret(request.query.get("website_id", ""), secret).encode()
    expected = hmac.new(key, request.body_as_sent, hashlib.sha1).hexdigest().encode()
    if given is None or not hmac.compare_digest(given.lower(), expected):
        raise Forbidden(NOT_SIGNED)
    return None


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
    return Messages(request.query.get("website_id"), read_each(events, _message))


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
        return Message([page_view(**fields)], from_server=True)
    name = text(sent.get("eventName"), 256)
    if kind != "event" or name is None:
        return Message(invalid="'eventType' must be pageview, or event with an 'eventName'")
    named = event(name, **fields, properties=_data(sent.get("eventData")))
    return Message([named], from_server=True)


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
    setting="a drain of Web Analytics to {url}/vercel/drain?website_id={id}&verify=CODE, with the "
    "code that Vercel shows there",
    routes=(
        Route(
            path="/vercel/drain",
            methods=("GET", "POST"),
            example=Example(
                [
                    {
                        "schema": "vercel.analytics.v1",
                        "eventType": "pageview",
                        "timestamp": 1795000000000,
                        "sessionId": 1,
                        "deviceId": 2,
                        "origin": "https://shop.example",
                        "path": "/",
                    }
                ],
                f"website_id={EXAMPLE_ALIAS}",
            ),
            read=read_drain,
            reply=reply,
            verify=verify_drain,
        ),
    ),
)
