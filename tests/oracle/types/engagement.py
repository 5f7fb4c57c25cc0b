"""Scroll depth and interactions."""

from fractions import Fraction
from typing import Any

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
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.page_views import page_views, told_views
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import Session, sessions
from tests.oracle.stored_rows import Row


def scrolled(scoped: ScopedRows) -> list[Row]:
    """Page views of some depth."""
    told = told_views(scoped.events, scoped.visit_events)
    return [view for view in told if (view["depth"] or 0) > 0]


def summary(scoped: ScopedRows) -> list[ResultRow]:
    rows = scrolled(scoped)
    return [
        {
            "avg_scroll_depth": average(there(rows, "depth")),
            "total_sessions": distinct(rows, "session_id"),
            "visitors": visitors(rows),
        }
    ]


def depth(row: Row) -> str:
    """The quarter of the page."""
    names = ("0-25%", "25-50%", "50-75%", "75-100%")
    return names[min(3, int(row["depth"] // 25))]


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
    for path, held in grouped(scrolled(scoped), lambda row: row.get("path")).items():
        depths = there(held, "depth")
        result.append(
            {
                "name": path,
                "avg_scroll_depth": average(depths),
                "visitors": visitors(held),
                "sessions": distinct(held, "session_id"),
                "pageviews": len(held),
                "_exact": sum(map(Fraction, depths)) / len(depths),
            }
        )
    return hidden(ordered(result, "-_exact", "-visitors", "name"))


def _interactions(session: Session) -> list[Any]:
    """Interaction counts of the session's page views that have one."""
    sums = (view.sum("interaction_count") for view in page_views(session.events))
    return [count for count in sums if count is not None]


def interactions(scoped: ScopedRows) -> list[ResultRow]:
    held = sessions(scoped.visit_events)
    counts = [_interactions(session) for session in held]
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
