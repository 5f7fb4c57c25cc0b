"""Sessions by group, and the page paths inside them."""

from collections import Counter
from itertools import pairwise

from tests.oracle.aggregates import ResultRow, distinct, grouped, ordered, ratio, views, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import Session, sessions

RANGES = (
    (30, "0-30s"),
    (60, "30s-1m"),
    (300, "1m-5m"),
    (900, "5m-15m"),
    (3600, "15m-1h"),
)


def length(session: Session) -> str:
    """The range that its duration is in."""
    for seconds, name in RANGES:
        if session.milliseconds < seconds * 1000:
            return name
    return "1h+"


def summed(held: list[Session]) -> ResultRow:
    """Sessions, and who began them."""
    return {"sessions": len(held), "visitors": visitors([each.views[0] for each in held])}


def lasted(held: list[Session]) -> ResultRow:
    """The same with the mean duration."""
    together = sum(each.milliseconds for each in held)
    return {**summed(held), "avg_session_duration": ratio(together, 1000 * len(held))}


def lengths(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(sessions(scoped.visit_events), length)
    result: list[ResultRow] = [
        {"duration_range": name, **summed(held)} for name, held in groups.items()
    ]
    return ordered(result, "-sessions", "duration_range")


def by(column: str) -> Oracle:
    """Sessions by a fact of the visit."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(
            sessions(scoped.visit_events),
            lambda session: session.views[0][f"visit.{column}"] or "Unknown",
        )
        result: list[ResultRow] = [{"name": name, **lasted(held)} for name, held in groups.items()]
        return ordered(result, "-sessions", "name")

    return Oracle(rows)


def course(scoped: ScopedRows) -> list[ResultRow]:
    begun = grouped(sessions(scoped.visit_events), lambda session: scoped.bucket(session.views[0]))
    return [{"date": point[0], **lasted(begun.get(point, []))} for point in scoped.points]


def flow(scoped: ScopedRows) -> list[ResultRow]:
    """Steps between views that have a path; a step to the same page does not count."""
    steps: Counter[tuple[str, str]] = Counter()
    takers: dict[tuple[str, str], set[str]] = {}
    for session in sessions(scoped.visit_events):
        paths = [row["path"] for row in session.views if row.get("path") is not None]
        for step in pairwise(paths):
            if step[0] != step[1]:
                steps[step] += 1
                takers.setdefault(step, set()).add(session.events[0]["session_id"])
    result: list[ResultRow] = [
        {
            "from_path": source,
            "to_path": target,
            "name": f"{source} → {target}",
            "transitions": count,
            "sessions": len(takers[source, target]),
        }
        for (source, target), count in steps.items()
    ]
    return ordered(result, "-transitions", "from_path", "to_path")


def pages(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"name": path, "sessions": distinct(held, "session_id"), "visitors": visitors(held)}
        for path, held in grouped(views(scoped.events), lambda row: row.get("path")).items()
    ]
    return ordered(result, "-sessions", "-visitors", "name")


SESSIONS_BY: Oracles = {
    "session_duration_distribution": Oracle(lengths),
    "sessions_by_device": by("device_type"),
    "sessions_by_browser": by("browser_name"),
    "sessions_time_series": Oracle(course, series=True),
    "session_flow": Oracle(flow),
    "session_pages": Oracle(pages),
}
