"""Single errors, groups of them, and their share of the sessions."""

from tests.oracle.aggregates import (
    Answer,
    distinct,
    grouped,
    named,
    ordered,
    percent,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import Seen
from tests.oracle.stored_rows import Row
from tests.oracle.types.errors import trends
from tests.oracle.wall_clock import iso


def cut(row: Row) -> str | None:
    """The stack as it is shown."""
    stack: str | None = row.get("stack")
    return None if stack is None else stack[:1500]


def recent(seen: Seen) -> list[Answer]:
    return [
        {
            "message": row["message"],
            "stack": cut(row),
            **named(row, "path", "anonymous_id", "session_id"),
            "timestamp": iso(row["ms"]),
            **named(row, "filename", "lineno", "colno", "error_type"),
            **named(row, "browser_name", "browser_version", "os_name", "os_version"),
            **named(row, "device_type", "country", "region"),
        }
        for row in reversed(seen.errors)
    ]


def summary(seen: Seen) -> list[Answer]:
    """A session that failed is a session, also when its page views never came."""
    failed = {row["session_id"] for row in seen.errors} - {None}
    viewed = {row["session_id"] for row in views(seen.events)} - {None}
    return [
        {
            "totalErrors": len(seen.errors),
            "uniqueErrorTypes": distinct(seen.errors, "message"),
            "affectedUsers": visitors(seen.errors),
            "affectedSessions": len(failed),
            "errorRate": percent(len(failed), len(failed | viewed)),
        }
    ]


GROUP = ("message", "error_type", "filename", "lineno")


def fingerprints(seen: Seen) -> list[Answer]:
    groups = grouped(seen.errors, lambda row: tuple(row.get(name) for name in GROUP))
    answer: list[Answer] = [
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
    return ordered(answer, "-count", "name", "error_type", "filename", "line")


ERRORS_MORE: Oracles = {
    "recent_errors": Oracle(recent, 50),
    "error_frequency": trends("count", None),
    "error_summary": Oracle(summary),
    "error_chart_data": trends("totalErrors", "affectedUsers"),
    "error_fingerprints": Oracle(fingerprints, 20),
}
