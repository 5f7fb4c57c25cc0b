"""Snowplow: events of the tracker protocol, as JSON or in the query string of an image.

https://docs.snowplow.io/docs/sources/trackers/snowplow-tracker-protocol/
A tracker keeps what was not taken and sends it again with every request. So events that are
invalid are dropped by name and not refused, and all it says is whether Kafka has the others.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
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
    listed_error,
    member,
    number,
    page_exit,
    page_view,
    pixel_reply,
    read_base64,
    read_each,
    read_json,
    read_list,
    text,
    text_reply,
)
from schemas.errors import ApiError, Malformed, RateLimitExceeded, Unavailable
from schemas.http.error_bodies import encode_json

TP2 = "/com.snowplowanalytics.snowplow/tp2"
WEB_PAGE = "/web_page/"
CLIENT_SESSION = "/client_session/"
SCHEMA = re.compile(r"iglu:([^/]+)/([^/]+)/")
TRANSACTION = {
    "tr_id": "order_id", "tr_af": "affiliation", "tr_tt": "revenue", "tr_tx": "tax",
    "tr_sh": "shipping", "tr_cu": "currency", "tr_ci": "city", "tr_st": "state", "tr_co": "country",
}  # fmt: skip
TRANSACTION_ITEM = {
    "ti_id": "order_id", "ti_sk": "sku", "ti_nm": "product", "ti_ca": "category", "ti_pr": "price",
    "ti_qu": "quantity", "ti_cu": "currency",
}  # fmt: skip
STRUCTURED = {"se_ca": "category", "se_la": "label", "se_pr": "property", "se_va": "value"}
SERVER_TRACKERS = ("node-", "py-", "rb-", "java-", "golang-", "php-", "net-", "rust-", "scala-")
"""How the versions of its trackers for servers begin."""
NUMBERS = frozenset(("revenue", "tax", "shipping", "price", "quantity", "value"))


def read_payload(request: TrackerRequest) -> Messages:
    """`{"schema", "data": [event, …]}`, whose members are texts."""
    return _messages(read_list(read_json(request.body), "data"), request)


def read_image(request: TrackerRequest) -> Messages:
    """One event in the query string."""
    return _messages([dict(request.query)], request)


def _messages(data: list[Any], request: TrackerRequest) -> Messages:
    messages = read_each(data, partial(_message, request=request))
    return Messages(next((one.alias for one in messages if one.alias), None), messages)


def _message(sent: Any, request: TrackerRequest) -> Message:
    if not isinstance(sent, dict):
        return Message(dropped="invalid_event")
    alias = text(sent.get("aid"), 255)
    try:
        contexts = _contexts(sent)
        items = EVENT_ITEMS.get(str(sent.get("e")), _nothing)(
            sent, _common(sent, contexts, request)
        )
    except Malformed:
        return Message(dropped="invalid_event", alias=alias)
    user = text(sent.get("ua"), 512) or ""
    return Message(
        items,
        "" if items else "unknown_event_type",
        alias=alias,
        user_agent=user,
        address=text(sent.get("ip"), 64) or "",
        from_server=(text(sent.get("tv"), 64) or "").startswith(SERVER_TRACKERS),
    )


def _common(
    sent: Mapping[str, Any], contexts: Mapping[str, Any], request: TrackerRequest
) -> dict[str, Any]:
    user, session = text(sent.get("uid"), 128), contexts.get(CLIENT_SESSION)
    visitor = sent.get("duid") or sent.get("tnuid") or sent.get("nuid") or member(session, "userId")
    return {
        "eventId": text(sent.get("eid"), 512),
        "anonymousId": text(visitor, 256) or user,
        "sessionId": text(sent.get("sid") or member(session, "sessionId"), 256),
        "profileId": user,
        "timestamp": _time(sent, request),
        "path": text(sent.get("url"), 65_536),
        "title": text(sent.get("page"), 512),
        "referrer": text(sent.get("refr"), 65_536),
        "language": text(sent.get("lang"), 64),
        "timezone": text(sent.get("tz"), 64),
        "screen_resolution": text(sent.get("res"), 64),
        "viewport_size": text(sent.get("vp"), 64),
        "source": text(sent.get("tv"), 64),
    }


def _time(sent: Mapping[str, Any], request: TrackerRequest) -> int | None:
    """The true time, else that of the device corrected by when it sent the event."""
    if (true := number(sent.get("ttm"))) is not None:
        return round(true)
    created, sent_at = number(sent.get("dtm")), number(sent.get("stm"))
    if created is None:
        return None
    return round(created if sent_at is None else created + request.received_ms - sent_at)


def _contexts(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The data of contexts that we read, by the name of their schema."""
    contexts: dict[str, Any] = {}
    given = _self_describing(sent, "co", "cx")
    data = member(given, "data")
    for context in data if isinstance(data, list) else ():
        schema = str(member(context, "schema"))
        for name in (WEB_PAGE, CLIENT_SESSION):
            if name in schema:
                contexts[name] = member(context, "data")
    return contexts


def _self_describing(sent: Mapping[str, Any], plain: str, encoded: str) -> Any:
    """JSON of one of two members, one of which has it in base64; None without either."""
    if (given := sent.get(plain)) is not None:
        return read_json(given.encode()) if isinstance(given, str) else given
    if isinstance(given := sent.get(encoded), str):
        return read_json(read_base64(given))
    return None


def _page(_sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    return [page_view(**common)]


def _ping(sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    """A page ping says how far the page was scrolled; its interval is the site's setting."""
    height, seen = number((str(sent.get("ds") or "")).partition("x")[2]), number(sent.get("pp_may"))
    view = number((str(sent.get("vp") or "")).partition("x")[2]) or 0
    depth = None if not height or seen is None else min(100.0, (seen + view) / height * 100)
    return [page_exit(None, depth and round(depth, 1), **common)]


def _structured(sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    name = text(sent.get("se_ac"), 256)
    if name is None:
        raise Malformed("'se_ac' is required in a structured event")
    return [event(name, **common, properties=_named(sent, STRUCTURED))]


def _unstructured(sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    described = member(_self_describing(sent, "ue_pr", "ue_px"), "data")
    schema = SCHEMA.match(str(member(described, "schema")))
    if schema is None:
        raise Malformed("'ue_pr' must be a self-describing event")
    vendor, name = schema.groups()
    data = member(described, "data")
    properties = data if isinstance(data, dict) else None
    if name == "link_click":
        return [event("outgoing_link", href=text(member(data, "targetUrl"), 65_536), **common)]
    if name == "screen_view":
        screen = text(member(data, "name"), 512)
        path = common["path"] or (screen and f"/{screen}")
        return [page_view(**{**common, "path": path, "title": screen or common["title"]})]
    if name == "identify" and common["profileId"]:
        fields = {n: common[n] for n in ("eventId", "anonymousId", "sessionId", "timestamp")}
        return [identity(common["profileId"], properties, **fields)]
    return [event(name[:256], **common, namespace=vendor[:64], properties=properties)]


def _transaction(sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    return [event("transaction", **common, properties=_named(sent, TRANSACTION))]


def _transaction_item(sent: Mapping[str, Any], common: dict[str, Any]) -> list[TrackedItem]:
    return [event("transaction_item", **common, properties=_named(sent, TRANSACTION_ITEM))]


def _named(sent: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, object] | None:
    return {
        ours: number(sent[theirs]) if ours in NUMBERS else sent[theirs]
        for theirs, ours in names.items()
        if sent.get(theirs) not in (None, "")
    } or None


def _nothing(_sent: Mapping[str, Any], _common: dict[str, Any]) -> list[TrackedItem]:
    return []


EVENT_ITEMS = {
    "pv": _page,
    "pp": _ping,
    "se": _structured,
    "ue": _unstructured,
    "tr": _transaction,
    "ti": _transaction_item,
}


def reply(_outcome: Outcome) -> Reply:
    """`ok`."""
    return text_reply("ok")


def image_reply(_outcome: Outcome) -> Reply:
    """An image."""
    return pixel_reply()


def error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """Statuses after which a tracker forgets its events, unless a retry helps."""
    again = isinstance(error, Unavailable | RateLimitExceeded) or error.status == 408
    return Reply(encode_json(listed_error(error)), error.status if again else 400)


EXAMPLE_EVENT = {
    "e": "pv",
    "aid": EXAMPLE_ALIAS,
    "p": "web",
    "eid": "6f1e0c1a-0c1a-4c1a-8c1a-0c1a0c1a0c1a",
    "duid": "d1",
    "url": "https://shop.example/",
}

SNOWPLOW = Protocol(
    product="snowplow",
    title="Snowplow",
    setting="collector address {url}, appId '{id}'",
    routes=(
        Route(
            path=TP2,
            example=Example(
                {
                    "schema": "iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4",
                    "data": [EXAMPLE_EVENT],
                }
            ),
            read=read_payload,
            reply=reply,
            error=error,
        ),
        Route(
            path="/i",
            methods=("GET",),
            example=Example(query=f"e=pv&aid={EXAMPLE_ALIAS}&duid=d1&url=https://shop.example/"),
            read=read_image,
            reply=image_reply,
            error=error,
        ),
    ),
)
