"""A website as a whole."""

from tests.oracle.aggregates import (
    Answer,
    grouped,
    median,
    percent,
    ratio,
    rounded,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import Seen
from tests.oracle.sessions import Session, sessions


def of_sessions(held: list[Session]) -> Answer:
    """What is said of a number of sessions."""
    return {
        "sessions": len(held),
        "bounce_rate": percent(sum(each.bounced for each in held), len(held)),
        "median_session_duration": rounded(median([each.milliseconds for each in held]) / 1000),
    }


def summary(seen: Seen) -> list[Answer]:
    return [
        {
            "pageviews": len(views(seen.events)),
            "unique_visitors": visitors(seen.events),
            **of_sessions(sessions(seen.events)),
            "total_events": len(seen.events),
        }
    ]


def course(seen: Seen) -> list[Answer]:
    """A session counts where its first page view is."""
    events = grouped(seen.events, seen.bucket)
    begun = grouped(sessions(seen.events), lambda session: seen.bucket(session.views[0]))
    return [
        {
            "date": point[0],
            "pageviews": len(views(events.get(point, []))),
            "visitors": visitors(events.get(point, [])),
            **of_sessions(held := begun.get(point, [])),
            "pages_per_session": ratio(sum(len(each.views) for each in held), len(held)),
        }
        for point in seen.points
    ]


def session_metrics(seen: Seen) -> list[Answer]:
    held = sessions(seen.events)
    return [
        {
            "total_sessions": len(held),
            "avg_session_duration": mean_seconds(held),
            "bounce_rate": of_sessions(held)["bounce_rate"],
            "total_events": len(seen.events),
        }
    ]


def mean_seconds(held: list[Session]) -> float:
    """How long sessions last on average."""
    return ratio(sum(each.milliseconds for each in held), 1000 * len(held))


WEBSITE: Oracles = {
    "summary_metrics": Oracle(summary),
    "summary": Oracle(summary),
    "events_by_date": Oracle(course, series=True),
    "session_metrics": Oracle(session_metrics),
}
