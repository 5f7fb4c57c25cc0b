"""Imported totals: what other products counted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow, percent, ratio
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row


def totals(scoped: ScopedRows, dimension: str) -> list[Row]:
    """The rows of one dimension, of days in the range."""
    query = scoped.query
    return [
        row
        for row in scoped.totals()
        if row["dimension"] == dimension and query.start <= row["ts"].date() <= query.end
    ]


def added(rows: Sequence[Row], column: str, where: str = "") -> int | None:
    """The sum of what is known, of rows that have another count as well."""
    known = [row[column] for row in rows if not where or row[where] is not None]
    counts = [count for count in known if count is not None]
    return sum(counts) if counts else None


def shared(
    rows: Sequence[Row], part: str, of: str, made: Callable[[Any, int], float], by: int = 1
) -> float | None:
    """One count by another."""
    total = added(rows, part, of if part == "page_views" else "")
    return None if total is None else made(total, (added(rows, of, part) or 0) * by)


def of_rows(rows: Sequence[Row]) -> ResultRow:
    products = sorted({row["product"] for row in rows})
    return {
        "product": ", ".join(dict.fromkeys((products[0], products[-1]))),
        "daily_visitors": added(rows, "visitors"),
        "pageviews": added(rows, "page_views"),
        "sessions": added(rows, "visits"),
        "bounce_rate": shared(rows, "bounces", "visits", percent),
        "avg_session_duration": shared(rows, "visit_seconds", "visits", ratio),
        "pages_per_session": shared(rows, "page_views", "visits", ratio),
        "custom_events": added(rows, "events"),
    }


def groups(rows: Sequence[Row], key: Callable[[Row], Any]) -> Mapping[Any, list[Row]]:
    """Rows by key, those without a value together."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def by_value(scoped: ScopedRows) -> list[ResultRow]:
    dimension = scoped.query.options.get("dimension", "")
    made = [
        {"name": value, **of_rows(rows)}
        for value, rows in groups(totals(scoped, dimension), lambda row: row["value"]).items()
    ]
    counts = ("daily_visitors", "pageviews", "custom_events")
    return sorted(
        made,
        key=lambda row: (
            *((row[count] is None, -(row[count] or 0)) for count in counts),
            (row["name"] is None, row["name"] or ""),
        ),
    )


def by_date(scoped: ScopedRows) -> list[ResultRow]:
    width = {"day": "daily", "week": "weekly", "month": "monthly"}[
        scoped.query.options.get("period", "day")
    ]
    found = groups(totals(scoped, ""), lambda row: wall_clock.bucket(row["ms"], "UTC", width)[0])
    return [{"date": label, **of_rows(found[label])} for label in sorted(found)]


IMPORTED: Oracles = {
    "imported_totals": Oracle(by_value),
    "imported_totals_by_date": Oracle(by_date, 10_000),
}
