"""Scroll depth and interactions."""

from fractions import Fraction

from tests.oracle.aggregates import (
    ResultRow,
    average,
    distinct,
    grouped,
    hidden,
    ordered,
    percent,
    rounded,
    shared,
    there,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row


def scrolled(scoped: ScopedRows) -> list[Row]:
    """Reports of some depth."""
    return [row for row in scoped.events if (row.get("scroll_depth") or 0) > 0]


def summary(scoped: ScopedRows) -> list[ResultRow]:
    rows = scrolled(scoped)
    return [
        {
            "avg_scroll_depth": average(there(rows, "scroll_depth")),
            "total_sessions": distinct(rows, "session_id"),
            "visitors": visitors(rows),
        }
    ]


def depth(row: Row) -> str:
    """The quarter of the page."""
    names = ("0-25%", "25-50%", "50-75%", "75-100%")
    return names[min(3, int(row["scroll_depth"] // 25))]


def distribution(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "depth_range": name,
            "visitors": visitors(held),
            "sessions": distinct(held, "session_id"),
        }
        for name, held in grouped(scrolled(scoped), depth).items()
    ]
    return ordered(shared(result), "depth_range")


def pages(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = []
    views_report = bool(views(scrolled(scoped)))
    for path, held in grouped(scrolled(scoped), lambda row: row.get("path")).items():
        depths = there(held, "scroll_depth")
        result.append(
            {
                "name": path,
                "avg_scroll_depth": average(depths),
                "visitors": visitors(held),
                "sessions": distinct(held, "session_id"),
                "pageviews": len(views(held)) if views_report else None,
                "_exact": sum(map(Fraction, depths)) / len(depths),
            }
        )
    return hidden(ordered(result, "-_exact", "-visitors", "name"))


def interactions(scoped: ScopedRows) -> list[ResultRow]:
    held = sessions(scoped.visit_events)
    counts = [there(session.events, "interaction_count") for session in held]
    touched = sum(sum(each) > 0 for each in counts)
    reports = [count for each in counts for count in each]
    return [
        {
            "avg_interactions": rounded(Fraction(sum(reports), len(reports))) if reports else None,
            "interactive_sessions": touched if reports else None,
            "interaction_rate": percent(touched, len(held)) if reports else None,
            "total_sessions": len(held),
        }
    ]


ENGAGEMENT: Oracles = {
    "scroll_depth_summary": Oracle(summary),
    "scroll_depth_distribution": Oracle(distribution),
    "page_scroll_performance": Oracle(pages),
    "interaction_summary": Oracle(interactions),
}
