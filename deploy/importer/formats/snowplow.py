"""Snowplow: enriched events, as TSV of the stream (131 columns, no header) or JSON of the lake."""

from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import (
    Columns,
    ExportFormat,
    as_object,
    refuse_unknown_kind,
    screen_size,
)

TSV_COLUMNS: tuple[str, ...] = (
    *("app_id", "platform", "etl_tstamp", "collector_tstamp", "dvce_created_tstamp", "event"),
    *("event_id", "txn_id", "name_tracker", "v_tracker", "v_collector", "v_etl", "user_id"),
    *("user_ipaddress", "user_fingerprint", "domain_userid", "domain_sessionidx"),
    *("network_userid", "geo_country", "geo_region", "geo_city", "geo_zipcode", "geo_latitude"),
    *("geo_longitude", "geo_region_name", "ip_isp", "ip_organization", "ip_domain"),
    *("ip_netspeed", "page_url", "page_title", "page_referrer", "page_urlscheme", "page_urlhost"),
    *("page_urlport", "page_urlpath", "page_urlquery", "page_urlfragment", "refr_urlscheme"),
    *("refr_urlhost", "refr_urlport", "refr_urlpath", "refr_urlquery", "refr_urlfragment"),
    *("refr_medium", "refr_source", "refr_term", "mkt_medium", "mkt_source", "mkt_term"),
    *("mkt_content", "mkt_campaign", "contexts", "se_category", "se_action", "se_label"),
    *("se_property", "se_value", "unstruct_event", "tr_orderid", "tr_affiliation", "tr_total"),
    *("tr_tax", "tr_shipping", "tr_city", "tr_state", "tr_country", "ti_orderid", "ti_sku"),
    *("ti_name", "ti_category", "ti_price", "ti_quantity", "pp_xoffset_min", "pp_xoffset_max"),
    *("pp_yoffset_min", "pp_yoffset_max", "useragent", "br_name", "br_family", "br_version"),
    *("br_type", "br_renderengine", "br_lang", "br_features_pdf", "br_features_flash"),
    *("br_features_java", "br_features_director", "br_features_quicktime"),
    *("br_features_realplayer", "br_features_windowsmedia", "br_features_gears"),
    *("br_features_silverlight", "br_cookies", "br_colordepth", "br_viewwidth", "br_viewheight"),
    *("os_name", "os_family", "os_manufacturer", "os_timezone", "dvce_type", "dvce_ismobile"),
    *("dvce_screenwidth", "dvce_screenheight", "doc_charset", "doc_width", "doc_height"),
    *("tr_currency", "tr_total_base", "tr_tax_base", "tr_shipping_base", "ti_currency"),
    *("ti_price_base", "base_currency", "geo_timezone", "mkt_clickid", "mkt_network", "etl_tags"),
    *("dvce_sent_tstamp", "refr_domain_userid", "refr_device_tstamp", "derived_contexts"),
    *("domain_sessionid", "derived_tstamp", "event_vendor", "event_name", "event_format"),
    *("event_version", "event_fingerprint", "true_tstamp"),
)
"""In the fixed order of the enriched stream."""
UNSTRUCT = "unstruct_event"
STRUCT_PROPERTIES: Mapping[str, str] = {
    "category": "se_category",
    "label": "se_label",
    "property": "se_property",
    "value": "se_value",
}
ORDER_PROPERTIES: Mapping[str, str] = {
    "order_id": "tr_orderid",
    "revenue": "tr_total",
    "currency": "tr_currency",
}
NUMBERS = frozenset(("value", "revenue"))
OTHER_KINDS = {
    "page_ping": "says how long a page is read",
    "transaction_item": "is part of a transaction",
}


def is_enriched(line: str) -> bool:
    """Whether it is a line of the enriched stream, and not a header."""
    return line.count("\t") == len(TSV_COLUMNS) - 1 and not line.startswith("app_id\t")


def parse_line(line: str) -> Mapping[str, Any] | None:
    """The columns of a line; texts are not quoted."""
    cells = line.split("\t")
    return dict(zip(TSV_COLUMNS, cells, strict=True)) if len(cells) == len(TSV_COLUMNS) else None


def snowplow_columns(line: Columns) -> Columns:
    """Page views, structured and self-describing events and transactions.

    The visitor is `domain_userid` of the website's cookie, the time `derived_tstamp`.
    """
    kind = parse_text(line["event"])
    name, properties = _name_and_properties(kind, line)
    times = ("true_tstamp", "derived_tstamp", "collector_tstamp")
    visitors = ("domain_userid", "network_userid", "user_fingerprint")
    return {
        "timestamp": next((line[key] for key in times if parse_text(line.get(key))), None),
        "event_name": name,
        "event_id": line["event_id"],
        "anonymous_id": next((line[key] for key in visitors if parse_text(line.get(key))), None),
        "profile_id": line.get("user_id"),
        "session_id": line.get("domain_sessionid"),
        "url": line.get("page_url"),
        "title": line.get("page_title"),
        "referrer": line.get("page_referrer"),
        "user_agent": line.get("useragent"),
        "language": line.get("br_lang"),
        "timezone": line.get("os_timezone"),
        "country": line.get("geo_country"),
        "region": line.get("geo_region_name") or line.get("geo_region"),
        "city": line.get("geo_city"),
        "utm_source": line.get("mkt_source"),
        "utm_medium": line.get("mkt_medium"),
        "utm_campaign": line.get("mkt_campaign"),
        "utm_term": line.get("mkt_term"),
        "utm_content": line.get("mkt_content"),
        "screen_resolution": screen_size(
            line.get("dvce_screenwidth"), line.get("dvce_screenheight")
        ),
        "viewport_size": screen_size(line.get("br_viewwidth"), line.get("br_viewheight")),
        "properties": properties,
    }


def _name_and_properties(kind: str | None, line: Columns) -> tuple[str, dict[str, Any]]:
    if kind in OTHER_KINDS:
        raise InvalidLine(f"this is no event: Snowplow's '{kind}' {OTHER_KINDS[kind]}")
    if kind in ("page_view", "pv"):
        return "pageview", {}
    if kind == "struct" and (action := parse_text(line.get("se_action"))):
        return action, _sent(line, STRUCT_PROPERTIES)
    if kind == "transaction":
        return "transaction", _sent(line, ORDER_PROPERTIES)
    if kind == "unstruct" and (name := parse_text(line.get("event_name"))):
        return name, _self_described(line)
    raise refuse_unknown_kind("Snowplow", kind)


def _sent(line: Columns, members: Mapping[str, str]) -> dict[str, Any]:
    cells = {name: parse_text(line.get(column)) for name, column in members.items()}
    return {name: float(cell) if name in NUMBERS else cell for name, cell in cells.items() if cell}


def _self_described(line: Columns) -> dict[str, Any]:
    """The data of the event, which the lake has in a column of its schema."""
    event = as_object(line.get(UNSTRUCT))
    if event:
        return as_object(as_object(event.get("data")).get("data"))
    cells = (cell for name, cell in line.items() if name.startswith(f"{UNSTRUCT}_") and cell)
    return as_object(next(cells, None))


FORMATS = (
    ExportFormat(
        "Snowplow (enriched)",
        frozenset(("event", "event_id", "collector_tstamp", "v_collector")),
        snowplow_columns,
    ),
)
