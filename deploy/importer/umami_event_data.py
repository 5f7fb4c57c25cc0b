"""Data of Umami's events, which are in a table of their own, joined by the id of the event."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Self

import msgspec

from deploy.importer.containers import Member

COLUMN = "event_data"
"""The column that lines get."""
NUMBER, BOOLEAN = "2", "3"
"""Values of `data_type`."""


def is_event_data(member: Member) -> bool:
    """Whether a file of Umami's export has the data of its events."""
    return member.name.rpartition("/")[2] in ("event_data.csv", "event_data.ndjson")


def is_left_out(member: Member) -> bool:
    """Whether a file of Umami's export has neither events nor their data."""
    stem = member.name.rpartition("/")[2].partition(".")[0]
    return stem in ("session", "session_data", "website", "revenue", "segment", "report")


class UmamiEventData:
    """Members of events by event id, in a temporary file: exports have millions."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")
        self._database.execute("CREATE TABLE data (event_id TEXT, name TEXT, value TEXT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """The rows of a file; the key is `event_key` in older versions."""
        pairs = (
            (row.get("event_id") or row.get("website_event_id"), key, _value(row))
            for row in rows
            if (key := row.get("data_key") or row.get("event_key"))
        )
        self._database.executemany("INSERT INTO data VALUES (?, ?, ?)", pairs)
        self._database.execute("CREATE INDEX IF NOT EXISTS by_event ON data (event_id)")

    def joined(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """The line with the data of its event."""
        event_id = line.get("event_id")
        found = self._database.execute(
            "SELECT name, value FROM data WHERE event_id = ? ORDER BY rowid", (event_id,)
        ).fetchall()
        data = {name: msgspec.json.decode(value) for name, value in found}
        return {**line, COLUMN: data} if data else line


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
