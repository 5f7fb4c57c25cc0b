"""The SQL of the table of sessions, over rows written down here."""

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest

from schemas.tables import EVENTS, SESSIONS, ColumnType
from schemas.tables.derived_table import SOURCE_ROWS

TYPES = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18, 4)",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}
Values = Mapping[str, Any]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        columns = ", ".join(f"{c.name} {TYPES[c.type]}" for c in EVENTS.columns)
        opened.execute(f"CREATE TABLE {SOURCE_ROWS} ({columns})")
        yield opened


def holds(connection: duckdb.DuckDBPyConnection, *rows: Values) -> None:
    """Store events of one session of the evening of November 10; rows give what differs."""
    for seq, row in enumerate(rows):
        values = {
            "website_id": "shop",
            "session_hash": 1,
            "session_id": "s1",
            "anonymous_id": "u1",
            "visitor_hash": 11,
            "name": "screen_view",
            "kafka_partition": 0,
            "kafka_offset": 7,
            "seq": seq,
            **row,
            "ts": f"2026-11-{row['at']}",
        }
        del values["at"]
        marks = ", ".join("?" for _ in values)
        connection.execute(
            f"INSERT INTO {SOURCE_ROWS} ({', '.join(values)}) VALUES ({marks})",
            list(values.values()),
        )


def found(connection: duckdb.DuckDBPyConnection, *columns: str) -> list[tuple[Any, ...]]:
    """These columns of all rows of sessions."""
    text = f"SELECT {', '.join(columns)} FROM ({SESSIONS.sql}) ORDER BY ALL"
    return connection.execute(text).fetchall()


def test_it_selects_the_columns_of_the_table(connection: duckdb.DuckDBPyConnection) -> None:
    described = connection.execute(SESSIONS.sql).description
    stored = [column.name for column in SESSIONS.table.columns if column.name != "day"]

    assert [name for name, *_ in described] == stored


def test_events_of_a_session_are_counted_by_what_they_are(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    holds(
        connection,
        {"at": "10T22:00:00", "time_on_page": 1.5},
        {"at": "10T22:01:00", "name": "signup", "interactive": True},
        {"at": "10T22:01:30", "name": "impression", "interactive": False},
        {"at": "10T22:02:00", "name": "link", "outbound_domain": "else.example"},
        {"at": "10T22:03:00", "name": "page_exit", "time_on_page": 2},
        {"at": "10T22:04:00", "session_hash": None, "session_id": None},
    )

    counts = ("page_views", "other_events", "custom_events", "outbound_clicks", "events")
    assert found(connection, *counts) == [(1, 2, 2, 1, 5)]
    [(seconds, first, last)] = found(connection, "visible_time", "started_at", "ended_at")
    assert (float(seconds), f"{first:%H:%M}", f"{last:%H:%M}") == (3.5, "22:00", "22:03")


def test_a_utc_day_and_bots_have_rows_of_their_own(connection: duckdb.DuckDBPyConnection) -> None:
    holds(
        connection,
        {"at": "10T23:59:59"},
        {"at": "11T00:00:00"},
        {"at": "11T00:00:01", "is_bot": False},
        {"at": "11T00:00:02", "is_bot": True},
    )

    assert found(connection, "dayofmonth(ts)", "is_bot", "page_views") == [
        (10, False, 1),
        (11, False, 2),
        (11, True, 1),
    ]


def test_facts_are_of_the_first_and_the_last_page_view(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    holds(
        connection,
        {"at": "10T22:00:00", "name": "signup", "path": "/before", "visitor_hash": 10},
        {"at": "10T22:02:00", "path": "/out", "channel": "Direct", "visitor_hash": 12},
        {"at": "10T22:01:00", "path": "/in", "channel": "Email", "visitor_hash": 11},
        {"at": "10T22:03:00", "name": "signup", "path": "/after"},
    )

    [row] = found(connection, "entry_page", "exit_page", "channel", "visitor_hash", "last_ts - ts")
    assert row[:4] == ("/in", "/out", "Email", 11)
    assert row[4].seconds == 60


def test_without_page_views_there_is_the_time_of_the_first_event(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    holds(connection, {"at": "10T22:05:00", "name": "a"}, {"at": "10T22:04:00", "name": "b"})

    [(time, page_views, entry, seq)] = found(connection, "ts", "page_views", "entry_page", "seq")
    assert (f"{time:%H:%M}", page_views, entry, seq) == ("22:04", 0, None, None)


def test_of_several_ids_the_least_is_kept(connection: duckdb.DuckDBPyConnection) -> None:
    holds(
        connection,
        {"at": "10T22:00:00", "anonymous_id": "u2", "profile_id": "a"},
        {"at": "10T22:01:00", "anonymous_id": "u1", "profile_id": "c", "trusted": True},
        {"at": "10T22:02:00", "anonymous_id": None, "profile_id": "b", "trusted": True},
    )

    ids = ("session_id", "anonymous_id", "profile_id", "trusted_profile_id")
    assert found(connection, *ids) == [("s1", "u1", "a", "b")]
