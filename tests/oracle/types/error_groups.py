"""Single errors, groups of them, and their share of the sessions."""

import math
from collections import Counter
from datetime import date, timedelta
from typing import Any

from tests.oracle.aggregates import (
    ResultRow,
    distinct,
    grouped,
    hidden,
    named,
    ordered,
    percent,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.types.errors import name_of, trends
from tests.oracle.wall_clock import first_instant, iso, wall
from tests.query.query_service import NOW


def cut(row: Row) -> str | None:
    """The stack as it is shown."""
    stack: str | None = row.get("stack")
    return None if stack is None else stack[:1500]


def recent(scoped: ScopedRows) -> list[ResultRow]:
    return [
        {
            "message": row["message"],
            "stack": cut(row),
            **named(row, "path", "anonymous_id", "session_id"),
            "timestamp": iso(row["ms"]),
            **named(row, "filename", "lineno", "colno", "error_type"),
            **named(row, "browser_name", "browser_version", "os_name", "os_version"),
            **named(row, "device_type", "country", "region", "release", "properties"),
        }
        for row in reversed(scoped.errors)
    ]


def summary(scoped: ScopedRows) -> list[ResultRow]:
    """A session that failed is a session, also when its page views never came."""
    failed = {row["session_id"] for row in scoped.errors} - {None}
    viewed = {row["session_id"] for row in views(scoped.events)} - {None}
    return [
        {
            "totalErrors": len(scoped.errors),
            "uniqueErrorTypes": distinct(scoped.errors, "message"),
            "affectedUsers": visitors(scoped.errors),
            "affectedSessions": len(failed),
            "errorRate": percent(len(failed), len(failed | viewed)),
        }
    ]


GROUP = ("message", "error_type", "filename", "lineno")


def by_group(scoped: ScopedRows, rows: list[Row]) -> dict[Any, list[Row]]:
    """The rows by the message, or its pattern, and the other facts of a group."""

    def group(row: Row) -> tuple[Any, ...]:
        return (name_of(scoped, row), *(row.get(name) for name in GROUP[1:]))

    return grouped(rows, group)


def fingerprints(scoped: ScopedRows) -> list[ResultRow]:
    groups = by_group(scoped, scoped.errors)
    result: list[ResultRow] = [
        {
            "name": message,
            "count": len(held),
            "users": visitors(held),
            "sessions": distinct(held, "session_id"),
            "path": held[-1].get("path"),
            "error_type": error_type,
            "filename": filename,
            "line": line,
            "stack": cut(held[-1]),
            "first_seen": iso(held[0]["ms"]),
            "last_seen": iso(held[-1]["ms"]),
        }
        for (message, error_type, filename, line), held in groups.items()
    ]
    return ordered(result, "-count", "name", "error_type", "filename", "line")


HISTORY_MS = 90 * 24 * 3_600_000


def changes(scoped: ScopedRows) -> list[ResultRow]:
    """Groups against the time before, those that need attention first."""
    start, query = scoped.start_ms, scoped.query
    days = query.end - query.start + timedelta(days=1)
    before = first_instant(query.start - days, query.zone)
    now = min(max(NOW, start), scoped.end_ms)
    today = wall(now, query.zone).date()
    passed_of_day = now - first_instant(today, query.zone)
    until = min(start, first_instant(today - days, query.zone) + passed_of_day)
    rows = scoped.read_from(before - HISTORY_MS).errors
    result: list[ResultRow] = []
    for group, held in by_group(scoped, rows).items():
        message, error_type, filename, line = group
        inside = [row for row in held if row["ms"] >= start]
        compared = [row for row in held if before <= row["ms"] < until]
        earlier = [row for row in held if row["ms"] < start]
        if not inside:
            continue
        state = state_of(
            len(inside), len(compared), earlier[-1]["ms"] >= before if earlier else None
        )
        counts = Counter(wall(row["ms"], scoped.query.zone).date() for row in inside)
        most = max(
            Counter(wall(r["ms"], scoped.query.zone).date() for r in compared).values(), default=0
        )
        worse = sorted(day for day, count in counts.items() if count > most)
        since = {"new": min(counts), "back": min(counts), "worse": worse[0] if worse else None}
        day = since.get(state)
        result.append(
            {
                "name": message,
                "error_type": error_type,
                "filename": filename,
                "line": line,
                "state": state,
                "status": "open",
                "status_id": None,
                "since": day and day.isoformat(),
                "count": len(inside),
                "previous_count": len(compared),
                "users": visitors(inside),
                "sessions": distinct(inside, "session_id"),
                "path": inside[-1].get("path"),
                "pages": distinct(inside, "path"),
                "browser_name": inside[-1].get("browser_name"),
                "browsers": distinct(inside, "browser_name"),
                "release": inside[-1].get("release"),
                "releases": distinct(inside, "release"),
                "first_seen": iso(inside[0]["ms"]),
                "last_seen": iso(inside[-1]["ms"]),
                "last_before": iso(earlier[-1]["ms"]) if earlier else None,
                "_calm": state in ("steady", "better"),
            }
        )
    order = ("_calm", "-users", "-count", "name", "error_type", "filename", "line")
    return hidden(ordered(result, *order))


def by_day(rows: list[Row], zone: str) -> Counter[date]:
    """How many rows each day has."""
    return Counter(wall(row["ms"], zone).date() for row in rows)


def state_of(count: int, before: int, is_recent: bool | None) -> str:
    """The state of a group by its errors, those before, and whether the last was in that time.

    `is_recent` is None without an earlier error.
    """
    if is_recent is None:
        return "new"
    if not is_recent:
        return "back"
    if abs(count - before) <= 2 * math.sqrt(count + before):
        return "steady"
    return "worse" if count > before else "better"


def states(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"state": state, "groups": len(held), "errors": sum(row["count"] for row in held)}
        for state, held in grouped(changes(scoped), lambda row: row["state"]).items()
    ]
    return ordered(result, "-groups", "state")


ERRORS_MORE: Oracles = {
    "recent_errors": Oracle(recent, 50),
    "error_frequency": trends("count", None),
    "error_summary": Oracle(summary),
    "error_chart_data": trends("totalErrors", "affectedUsers"),
    "error_fingerprints": Oracle(fingerprints, 20),
    "error_changes": Oracle(changes, 20),
    "error_states": Oracle(states),
}
