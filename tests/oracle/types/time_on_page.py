"""Time on page."""

from decimal import Decimal

from tests.oracle.aggregates import (
    ResultRow,
    average,
    distinct,
    grouped,
    median,
    ordered,
    rounded,
    shared,
    there,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.page_views import told_views
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row


def views_by_path(scoped: ScopedRows) -> dict[str, list[Row]]:
    """Page views with what was reported of them."""
    return grouped(told_views(scoped.events, scoped.visit_events), lambda view: view.get("path"))


def performance(scoped: ScopedRows) -> list[ResultRow]:
    reported = views_by_path(scoped)
    viewed = grouped(views(scoped.events), lambda row: row.get("path"))
    result: list[ResultRow] = [
        {
            "name": path,
            "pageviews": len(rows),
            "avg_time_on_page": average(there(reported[path], "seconds")),
            "visitors": visitors(rows),
        }
        for path, rows in viewed.items()
    ]
    return ordered(result, "-visitors", "-pageviews", "name")


def times(scoped: ScopedRows) -> list[ResultRow]:
    """Page views of more than a second and less than an hour."""
    result: list[ResultRow] = []
    for path, told in views_by_path(scoped).items():
        timed = [view for view in told if Decimal(1) < (view["seconds"] or 0) < Decimal(3600)]
        if timed:
            result.append(
                {
                    "name": path,
                    "sessions_with_time": distinct(timed, "session_id"),
                    "visitors": visitors(timed),
                    "median_time_on_page": rounded(median(there(timed, "seconds"))),
                }
            )
    return ordered(shared(result), "-visitors", "-sessions_with_time", "name")


PAGES: Oracles = {
    "page_performance": Oracle(performance),
    "page_time_analysis": Oracle(times),
}
