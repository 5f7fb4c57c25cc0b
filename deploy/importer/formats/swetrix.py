"""Swetrix: its tables of page views and custom events, and the newer one of all kinds."""

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import (
    Columns,
    ExportFormat,
    as_list,
    refuse_unknown_kind,
)

PAGE_VIEWS, EVENTS = frozenset(("pageview",)), frozenset(("custom_event", "custom"))
OTHER_TABLES = frozenset(("dns", "ttfb", "lineno", "filename", "message"))
"""Columns of load times and errors."""


def swetrix_columns(line: Columns) -> Columns:
    """Columns have short names; `psid` is the visitor of a day, newer versions have `sid`."""
    visitor = line["psid"]
    return {
        "timestamp": line["created"],
        "event_name": _event_name(line),
        "anonymous_id": parse_text(line.get("profileId")) or visitor,
        "session_id": parse_text(line.get("sid")) or visitor,
        "host": line.get("host"),
        "path": line.get("pg"),
        "title": line.get("title"),
        "referrer": line.get("ref"),
        "utm_source": line.get("so"),
        "utm_medium": line.get("me"),
        "utm_campaign": line.get("ca"),
        "utm_term": line.get("te"),
        "utm_content": line.get("co"),
        "device_type": line.get("dv"),
        "browser": line.get("br"),
        "browser_version": line.get("brv"),
        "os": line.get("os"),
        "os_version": line.get("osv"),
        "language": line.get("lc"),
        "country": line.get("cc"),
        "region": line.get("rg"),
        "city": line.get("ct"),
        "properties": dict(
            zip(as_list(line.get("meta.key")), as_list(line.get("meta.value")), strict=False)
        ),
    }


def _event_name(line: Columns) -> str:
    """The name of the event; without a kind the columns say which table it is."""
    kind = parse_text(line.get("type"))
    name = parse_text(line.get("ev")) or parse_text(line.get("event_name"))
    if kind in PAGE_VIEWS or (kind is None and name is None and parse_text(line.get("pg"))):
        if kind is None and not line.keys().isdisjoint(OTHER_TABLES):
            raise InvalidLine("this is no event: it has load times or an error of a page")
        return "pageview"
    if name is None or kind not in (None, *EVENTS):
        raise refuse_unknown_kind("Swetrix", kind)
    return name


FORMATS = (ExportFormat("Swetrix", frozenset(("psid", "pid", "created")), swetrix_columns),)
