"""A website as a whole."""

from tests.oracle.aggregates import (
    Nothing,
    ResultRow,
    grouped,
    median,
    percent,
    ratio,
    rounded,
    views,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import Session, sessions


def of_sessions(held: list[Session]) -> ResultRow:
    """Metrics of a set of sessions."""
    return {
        "sessions": len(held),
        "bounce_rate": percent(sum(each.bounced for each in held), len(held)),
        "median_session_duration": rounded(median([each.milliseconds for each in held]) / 1000)
        if held
        else Nothing(),
    }


def summary(scoped: ScopedRows) -> list[ResultRow]:
    return [
        {
            "pageviews": len(views(scoped.events)),
            "unique_visitors": visitors(scoped.events),
            **of_sessions(held := sessions(scoped.visit_events)),
            "pages_per_session": ratio(sum(len(each.views) for each in held), len(held)),
            "total_events": len(scoped.events),
        }
    ]


def course(scoped: ScopedRows) -> list[ResultRow]:
    """A session counts where its first page view is."""
    events = grouped(scoped.events, scoped.bucket)
    begun = grouped(sessions(scoped.visit_events), lambda session: scoped.bucket(session.views[0]))
    return [
        {
            "date": point[0],
            "pageviews": len(views(events.get(point, []))),
            "visitors": visitors(events.get(point, [])),
            **of_sessions(held := begun.get(point, [])),
            "pages_per_session": ratio(sum(len(each.views) for each in held), len(held)),
        }
        for point in scoped.points
    ]


def session_metrics(scoped: ScopedRows) -> list[ResultRow]:
    held = sessions(scoped.visit_events)
    return [
        {
            "total_sessions": len(held),
            "avg_session_duration": mean_seconds(held),
            "bounce_rate": of_sessions(held)["bounce_rate"],
            "total_events": len(scoped.events),
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
