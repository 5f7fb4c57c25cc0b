"""Umami: the table `website_event`, as its cloud, ClickHouse or PostgreSQL write it.

Properties of events are in a second table, `event_data`, joined by the id of the event.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Self

import msgspec

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
    if properties := {**as_object(line.get(EVENT_DATA)), **_tag(line)}:
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


EVENT_DATA = "event_data"
"""The column of the data in lines that are joined with it."""
NUMBER, BOOLEAN = "2", "3"
"""Values of `data_type`."""


def is_event_data(file_name: str) -> bool:
    """Whether a file of Umami's export has the data of its events."""
    return file_name.rpartition("/")[2] in ("event_data.csv", "event_data.ndjson")


def is_left_out(file_name: str) -> bool:
    """Whether a file of Umami's export has neither events nor their data."""
    stem = file_name.rpartition("/")[2].partition(".")[0]
    return stem in ("session", "session_data", "website", "revenue", "segment", "report")


class UmamiEventData:
    """Data of events by event id, in a temporary file: exports have millions."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")
        self._database.execute("CREATE TABLE data (event_id TEXT, name TEXT, value TEXT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add the rows of a file; the key is `event_key` in older versions."""
        pairs = (
            (row.get("event_id") or row.get("website_event_id"), key, _value(row))
            for row in rows
            if (key := row.get("data_key") or row.get("event_key"))
        )
        self._database.executemany("INSERT INTO data VALUES (?, ?, ?)", pairs)
        self._database.execute("CREATE INDEX IF NOT EXISTS by_event ON data (event_id)")

    def joined(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """The line with the data of its event."""
        rows = self._database.execute(
            "SELECT name, value FROM data WHERE event_id = ? ORDER BY rowid",
            (line.get("event_id"),),
        )
        data = {name: msgspec.json.decode(value) for name, value in rows}
        return {**line, EVENT_DATA: data} if data else line


def _value(row: Mapping[str, Any]) -> str:
    """The value as JSON text, a number as a number."""
    kind = str(row.get("data_type"))
    text = row.get("string_value") or row.get("date_value")
    if kind == NUMBER and row.get("number_value") not in (None, ""):
        number = float(row["number_value"])
        return msgspec.json.encode(int(number) if number.is_integer() else number).decode()
    if kind == BOOLEAN and text in ("true", "false"):
        return str(text)
    return msgspec.json.encode(text).decode()


FORMATS = (
    ExportFormat(
        "Umami (website_event)",
        frozenset(("session_id", "visit_id", "url_path", "created_at")),
        umami_columns,
    ),
)
