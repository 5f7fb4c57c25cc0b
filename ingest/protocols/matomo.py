"""Matomo: the Tracking HTTP API, one request per hit or in bulk.

https://developer.matomo.org/api-reference/tracking-api
"""

from collections.abc import Mapping
from typing import Any

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
    TrackedItem,
    TrackerRequest,
    error_report,
    event,
    has_old_items,
    json_reply,
    listed_error,
    member,
    number,
    page_exit,
    page_view,
    pixel_reply,
    position,
    read_form,
    read_json,
    read_list,
    require_few,
    text,
)
from schemas.errors import ApiError, Malformed

PATHS = ("/matomo.php", "/piwik.php")
PING_SECONDS = 15
"""Matomo's heart beat timer; a ping says that the page was seen for that long once more."""
COMMERCE = {
    "ec_id": "order_id",
    "revenue": "revenue",
    "ec_st": "subtotal",
    "ec_tx": "tax",
    "ec_sh": "shipping",
    "ec_dt": "discount",
}
EVENT_PROPERTIES = {"e_c": "category", "e_n": "label", "e_v": "value"}


def read_hits(request: TrackerRequest) -> Messages:
    """A hit in the query string or form, or `{"requests": [...], "token_auth"?}`."""
    body = request.body.strip()
    if body[:1] == b"{":
        return _bulk(read_json(body), request)
    hit = {**request.query, **read_form(body)}
    messages = Messages(hit.get("idsite"), [_message(hit, request)], hit.get("send_image"))
    return _as_history(messages, hit.get("token_auth"), request)


def _bulk(body: Any, request: TrackerRequest) -> Messages:
    sent = read_list(body, "requests", "request")
    require_few(len(sent))
    hits = [_bulk_hit(one) for one in sent]
    messages = [
        Message(invalid="A request must be a query string or an object")
        if hit is None
        else _message(hit, request, hit.get("idsite"))
        for hit in hits
    ]
    first = next((hit for hit in hits if hit is not None), {})
    read = Messages(first.get("idsite"), messages, "bulk")
    token = text(member(body, "token_auth"), 255) or first.get("token_auth")
    return _as_history(read, token, request)


def _as_history(messages: Messages, token: str | None, request: TrackerRequest) -> Messages:
    """History, if there is a token and a hit that is too old for a live one; else unchanged.

    The token names the website then, which is that of all hits.
    """
    if token is None or not has_old_items(messages.messages, request.received_ms):
        return messages
    if len({one.alias for one in messages.messages if one.items}) > 1:
        raise Malformed("Hits of history in one request must have the same 'idsite'")
    sent = [replace(one, alias=None) for one in messages.messages]
    return replace(messages, alias=token, messages=sent, history=True)


def _bulk_hit(one: object) -> dict[str, str] | None:
    if isinstance(one, str):
        return read_form(one.partition("?")[2].encode("utf-8", "replace"))
    if isinstance(one, dict):
        return {name: str(value) for name, value in one.items() if not isinstance(value, dict)}
    return None


def _message(hit: Mapping[str, str], request: TrackerRequest, alias: str | None = None) -> Message:
    if hit.get("ca") == "1" and "cra" not in hit and "cra_msg" not in hit:
        return Message(dropped="custom_action", alias=alias)
    visitor = hit.get("_id") or hit.get("cid")
    user = text(hit.get("uid"), 128)
    common = {
        "anonymousId": text(visitor, 256) or user,
        "profileId": user,
        "timestamp": _time(hit),
        "path": text(hit.get("url"), 65_536),
        "referrer": text(hit.get("urlref"), 65_536),
        "language": text((hit.get("lang") or "").partition(",")[0], 64),
        "screen_resolution": text(hit.get("res"), 64),
    }
    items = _items(hit, common)
    return Message(
        items,
        "" if items else "content_interaction",
        alias=alias,
        user_agent=text(hit.get("ua"), 512) or "",
        address=text(hit.get("cip"), 64) or "",
        from_server=b"user-agent" not in request.headers,
    )


def _time(hit: Mapping[str, str]) -> object:
    """`cdt`: Unix seconds, or a date and time in UTC."""
    given = hit.get("cdt")
    if not given:
        return None
    seconds = number(given)
    if seconds is not None:
        return round(seconds * 1000)
    return f"{given.strip().replace(' ', 'T')}Z"


def _items(hit: Mapping[str, str], common: dict[str, Any]) -> list[TrackedItem]:
    if hit.get("ping") == "1":
        return [page_exit(PING_SECONDS, **common)]
    if message := hit.get("cra") or hit.get("cra_msg"):
        return [_crash(message, hit, common)]
    if hit.get("c_n"):  # content impressions and interactions
        return []
    if "e_a" in hit or "e_c" in hit:
        name = text(hit.get("e_a") or hit.get("e_c"), 256)
        return [event(name, **common, properties=_event_properties(hit))]
    if href := hit.get("link"):
        return [event("outgoing_link", href=text(href, 65_536), **common)]
    if href := hit.get("download"):
        return [event("download", href=text(href, 65_536), **common)]
    if search := hit.get("search"):
        results = number(hit.get("search_count"))
        properties = {"query": search, "category": hit.get("search_cat"), "results": results}
        return [event("search", **common, properties=_present(properties))]
    if "idgoal" in hit:
        return [_conversion(hit, common)]
    return [
        page_view(
            **common,
            title=text(hit.get("action_name"), 512),
            properties=_present({f"dimension{n}": hit.get(f"dimension{n}") for n in range(1, 21)}),
            **_page_times(hit),
        )
    ]


def _crash(message: str, hit: Mapping[str, str], common: dict[str, Any]) -> TrackedItem:
    fields = {n: common[n] for n in ("anonymousId", "timestamp", "path")}
    return error_report(
        text(message, 2048),
        **fields,
        errorType=text(hit.get("cra_tp"), 128),
        stack=text(hit.get("cra_st"), 16_384),
        filename=text(hit.get("cra_ru"), 65_536),
        lineno=position(hit.get("cra_rl")),
        colno=position(hit.get("cra_rc")),
    )


def _event_properties(hit: Mapping[str, str]) -> dict[str, object] | None:
    properties: dict[str, object] = {
        ours: hit[theirs] for theirs, ours in EVENT_PROPERTIES.items() if hit.get(theirs)
    }
    if (value := number(properties.get("value"))) is not None:
        properties["value"] = value
    return properties or None


def _conversion(hit: Mapping[str, str], common: dict[str, Any]) -> TrackedItem:
    """A goal; 0 stands for an order, or a cart that was changed."""
    is_order = hit["idgoal"] == "0"
    name = (
        f"goal_{hit['idgoal'][:200]}" if not is_order else "order" if hit.get("ec_id") else "cart"
    )
    numbers = {ours: number(hit.get(theirs)) for theirs, ours in COMMERCE.items()}
    items = read_json(hit["ec_items"].encode()) if hit.get("ec_items") else None
    properties = {**numbers, "order_id": hit.get("ec_id"), "items": items}
    return event(name, **common, properties=_present(properties))


PAGE_TIMES = {
    "ttfb": ("pf_net", "pf_srv"),
    "request_time": ("pf_srv", "pf_tfr"),
    "dom_interactive": ("pf_net", "pf_srv", "pf_tfr", "pf_dm1"),
    "load_time": ("pf_net", "pf_srv", "pf_tfr", "pf_dm1", "pf_dm2", "pf_onl"),
}
"""Milliseconds of page views, as sums of Matomo's phases."""


def _page_times(hit: Mapping[str, str]) -> dict[str, int]:
    times: dict[str, int] = {}
    for name, phases in PAGE_TIMES.items():
        parts = [number(hit.get(phase)) for phase in phases]
        if None not in parts:
            times[name] = min(60_000, max(0, round(sum(one for one in parts if one is not None))))
    return times


def _present(properties: Mapping[str, object]) -> dict[str, object] | None:
    return {name: one for name, one in properties.items() if one not in (None, "")} or None


def reply(outcome: Outcome) -> Reply:
    """An image, nothing if it is not wanted, or the counts of a bulk request."""
    if outcome.messages.reply_with == "bulk":
        counts = {"tracked": outcome.accepted, "invalid": len(outcome.rejected)}
        return json_reply({"status": "success", **counts})
    return NO_CONTENT if outcome.messages.reply_with == "0" else pixel_reply()


def error(error: ApiError, _request: TrackerRequest | None) -> Reply:
    """As Matomo's bulk requests: nothing was tracked."""
    return json_reply({**listed_error(error), "status": "error", "tracked": 0}, error.status)


EXAMPLE = Example(
    query=f"idsite={EXAMPLE_ALIAS}&rec=1&url=https%3A%2F%2Fshop.example%2F&action_name=Shop"
    "&_id=0123456789abcdef&res=1920x1080"
)

MATOMO = Protocol(
    product="matomo",
    title="Matomo",
    agent_is_visitors=True,
    setting="setTrackerUrl('{url}/matomo.php') and setSiteId('{id}'); matomo.js stays where it is",
    history="{url}/matomo.php with token_auth '{id}' and the time of each hit as cdt",
    routes=tuple(
        Route(
            path=path,
            methods=("GET", "POST"),
            example=EXAMPLE,
            read=read_hits,
            reply=reply,
            error=error,
        )
        for path in PATHS
    ),
)
