"""Umami: the table `website_event`, as its cloud, ClickHouse or PostgreSQL write it."""

from collections.abc import Mapping

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import (
    Columns,
    ExportFormat,
    as_object,
    refuse_unknown_kind,
)


def umami_columns(line: Columns) -> Columns:
    """A row of `website_event`: its session is the visitor, and `distinct_id` the profile."""
    kind = parse_text(line.get("event_type"))
    if kind and kind in UMAMI_OTHER_TYPES:
        raise InvalidLine(f"this is no event of the website: Umami's {UMAMI_OTHER_TYPES[kind]}")
    name = parse_text(line.get("event_name"))
    if kind not in (None, PAGE_VIEW, EVENT) or (kind == EVENT and name is None):
        raise refuse_unknown_kind("Umami", kind)
    columns = {name: cell for name, cell in line.items() if name not in UMAMI_UNUSED}
    if properties := {**as_object(line.get("event_data")), **_tag(line)}:
        columns["properties"] = properties
    return columns | {"profile_id": line.get("distinct_id")}


def _tag(line: Columns) -> dict[str, str]:
    tag = parse_text(line.get("tag"))
    return {"tag": tag} if tag else {}


PAGE_VIEW, EVENT = "1", "2"
"""Values of `event_type`; older versions have none."""
UMAMI_OTHER_TYPES: Mapping[str, str] = {
    "3": "event type 3 is a click of a short link",
    "4": "event type 4 is a loaded pixel",
    "5": "event type 5 has load times of a page view",
}
UMAMI_UNUSED = ("distinct_id", "subdivision2", "tag", "event_data")


FORMATS = (
    ExportFormat(
        "Umami (website_event)",
        frozenset(("session_id", "visit_id", "url_path", "created_at")),
        umami_columns,
    ),
)
