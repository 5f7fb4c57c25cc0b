"""Time on page."""

from decimal import Decimal

from tests.oracle.aggregates import (
    ResultRow,
    average,
    distinct,
    grouped,
    is_view,
    median,
    ordered,
    rounded,
    shared,
    there,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row


def looked_at(scoped: ScopedRows) -> dict[str, list[Row]]:
    """Page views and exits by path."""
    rows = [row for row in scoped.events if is_view(row) or row["name"] == "page_exit"]
    return grouped(rows, lambda row: row.get("path"))


def performance(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": path,
            "pageviews": len(viewed),
            "avg_time_on_page": average(there(held, "time_on_page")),
            "visitors": visitors(viewed),
        }
        for path, held in looked_at(scoped).items()
        if (viewed := views(held))
    ]
    return ordered(result, "-visitors", "-pageviews", "name")


def times(scoped: ScopedRows) -> list[ResultRow]:
    """Reports of more than a second and less than an hour."""
    result: list[ResultRow] = []
    for path, held in looked_at(scoped).items():
        timed = [row for row in held if Decimal(1) < (row.get("time_on_page") or 0) < Decimal(3600)]
        if timed:
            result.append(
                {
                    "name": path,
                    "sessions_with_time": distinct(timed, "session_id"),
                    "visitors": visitors(timed),
                    "median_time_on_page": rounded(median(there(timed, "time_on_page"))),
                }
            )
    return ordered(shared(result), "-visitors", "-sessions_with_time", "name")


PAGES: Oracles = {
    "page_performance": Oracle(performance),
    "page_time_analysis": Oracle(times),
}
