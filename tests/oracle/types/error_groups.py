"""Single errors, groups of them, and their share of the sessions."""

from tests.oracle.aggregates import (
    ResultRow,
    distinct,
    grouped,
    named,
    ordered,
    percent,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.types.errors import trends
from tests.oracle.wall_clock import iso


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
            **named(row, "device_type", "country", "region"),
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


def fingerprints(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(scoped.errors, lambda row: tuple(row.get(name) for name in GROUP))
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


ERRORS_MORE: Oracles = {
    "recent_errors": Oracle(recent, 50),
    "error_frequency": trends("count", None),
    "error_summary": Oracle(summary),
    "error_chart_data": trends("totalErrors", "affectedUsers"),
    "error_fingerprints": Oracle(fingerprints, 20),
}
