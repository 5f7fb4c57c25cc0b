"""Scrolling and interacting."""

from fractions import Fraction

from tests.oracle.aggregates import (
    Answer,
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
from tests.oracle.query import Seen
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row


def scrolled(seen: Seen) -> list[Row]:
    """Reports of some depth."""
    return [row for row in seen.events if (row.get("scroll_depth") or 0) > 0]


def summary(seen: Seen) -> list[Answer]:
    rows = scrolled(seen)
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


def distribution(seen: Seen) -> list[Answer]:
    answer: list[Answer] = [
        {
            "depth_range": name,
            "visitors": visitors(held),
            "sessions": distinct(held, "session_id"),
        }
        for name, held in grouped(scrolled(seen), depth).items()
    ]
    return ordered(shared(answer), "depth_range")


def pages(seen: Seen) -> list[Answer]:
    answer: list[Answer] = []
    for path, held in grouped(scrolled(seen), lambda row: row.get("path")).items():
        depths = there(held, "scroll_depth")
        answer.append(
            {
                "name": path,
                "avg_scroll_depth": average(depths),
                "visitors": visitors(held),
                "sessions": distinct(held, "session_id"),
                "pageviews": len(views(held)),
                "_exact": sum(map(Fraction, depths)) / len(depths),
            }
        )
    return hidden(ordered(answer, "-_exact", "-visitors", "name"))


def interactions(seen: Seen) -> list[Answer]:
    held = sessions(seen.events)
    counts = [there(session.events, "interaction_count") for session in held]
    touched = sum(sum(each) > 0 for each in counts)
    reports = [count for each in counts for count in each]
    return [
        {
            "avg_interactions": rounded(Fraction(sum(reports), len(reports))) if reports else None,
            "interactive_sessions": touched,
            "interaction_rate": percent(touched, len(held)),
            "total_sessions": len(held),
        }
    ]


ENGAGEMENT: Oracles = {
    "scroll_depth_summary": Oracle(summary),
    "scroll_depth_distribution": Oracle(distribution),
    "page_scroll_performance": Oracle(pages),
    "interaction_summary": Oracle(interactions),
}
