"""How long pages are looked at."""

from decimal import Decimal

from tests.oracle.aggregates import (
    Answer,
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
from tests.oracle.query import Seen
from tests.oracle.stored_rows import Row


def looked_at(seen: Seen) -> dict[str, list[Row]]:
    """Page views and exits by path."""
    rows = [row for row in seen.events if is_view(row) or row["name"] == "page_exit"]
    return grouped(rows, lambda row: row.get("path"))


def performance(seen: Seen) -> list[Answer]:
    answer: list[Answer] = [
        {
            "name": path,
            "pageviews": len(viewed),
            "avg_time_on_page": average(there(held, "time_on_page")),
            "visitors": visitors(viewed),
        }
        for path, held in looked_at(seen).items()
        if (viewed := views(held))
    ]
    return ordered(answer, "-visitors", "-pageviews", "name")


def times(seen: Seen) -> list[Answer]:
    """Reports of more than a second and less than an hour."""
    answer: list[Answer] = []
    for path, held in looked_at(seen).items():
        timed = [row for row in held if Decimal(1) < (row.get("time_on_page") or 0) < Decimal(3600)]
        if timed:
            answer.append(
                {
                    "name": path,
                    "sessions_with_time": distinct(timed, "session_id"),
                    "visitors": visitors(timed),
                    "median_time_on_page": rounded(median(there(timed, "time_on_page"))),
                }
            )
    return ordered(shared(answer), "-visitors", "-sessions_with_time", "name")


PAGES: Oracles = {
    "page_performance": Oracle(performance),
    "page_time_analysis": Oracle(times),
}
