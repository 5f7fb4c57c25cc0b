"""Ordered steps: funnels, goals, page paths and retention."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from tests.oracle import wall_clock
from tests.oracle.aggregates import (
    ResultRow,
    distinct,
    grouped,
    is_view,
    median,
    ordered,
    percent,
    rounded,
    visitors,
)
from tests.oracle.filters import all_hold
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row
from tests.oracle.visits import read_as
from tests.query.query_service import NOW

Step = Mapping[str, Any]


def is_step(row: Row, step: Step) -> bool:
    """Whether the row is an event of that name, or a view of that path, and its filters hold."""
    if "path" in step:
        same = is_view(row) and row.get("path") == step["path"]
    else:
        same = row["name"] == step["event"]
    return same and all_hold(row, [read_as(each) for each in step.get("filters", ())])


def called(step: Step) -> str:
    """What a step is called."""
    return str(step.get("label") or step.get("event") or step["path"])


def funnel(scoped: ScopedRows) -> list[ResultRow]:
    """How many reach each step, each time in the order of the steps and inside the window."""
    options = scoped.query.options
    steps = options["steps"]
    window_ms = options.get("window", 7 * 86_400) * 1000
    key = "session_id" if options.get("by") == "session" else "anonymous_id"
    waited: list[list[int | None]] = [[] for _ in steps]
    for events in grouped(scoped.events, lambda row: row[key]).values():
        for number, wait in walked(events, steps, window_ms).items():
            waited[number].append(wait)
    return [stage(steps, number, waited) for number in range(len(steps))]


def walked(events: list[Row], steps: list[Step], window_ms: int) -> dict[int, int | None]:
    """The steps that one reached, with the time since the step before when they first did."""
    found: dict[int, int | None] = {}
    before: list[set[int]] = []
    for number, step in enumerate(steps):
        here: list[set[int]] = []
        for i, row in enumerate(events):
            begun = {row["ms"]} if number == 0 else set().union(*before[:i])
            alive = {at for at in begun if row["ms"] - at <= window_ms}
            here.append(alive if is_step(row, step) else set())
            if here[-1] and number not in found:
                earlier = [events[j]["ms"] for j in range(i) if number and before[j]]
                found[number] = row["ms"] - max(earlier) if number else None
        before = here
    return found


def stage(steps: list[Step], number: int, waited: list[list[int | None]]) -> ResultRow:
    """One row of a funnel."""
    count, first = len(waited[number]), len(waited[0])
    previous = len(waited[number - 1]) if number else first
    times = [wait for wait in waited[number] if wait is not None]
    return {
        "step": number + 1,
        "name": called(steps[number]),
        "visitors": count,
        "conversion_rate": percent(count, first),
        "step_rate": percent(count, previous),
        "dropped": previous - count,
        "drop_off_rate": percent(previous - count, previous),
        "median_seconds": rounded(median(times) / 1000) if times else None,
    }


def goals(scoped: ScopedRows) -> list[ResultRow]:
    everyone = visitors(scoped.events)
    result: list[ResultRow] = []
    for goal in scoped.query.options["goals"]:
        held = [row for row in scoped.events if is_step(row, goal)]
        result.append(
            {
                "name": called(goal),
                "conversions": len(held),
                "visitors": visitors(held),
                "sessions": distinct(held, "session_id"),
                "conversion_rate": percent(visitors(held), everyone),
            }
        )
    return result


def paths(scoped: ScopedRows) -> list[ResultRow]:
    """A way is walked by the visitor who viewed its first page."""
    ways: dict[tuple[str, ...], list[int | None]] = {}
    for session in sessions(scoped.visit_events):
        way = stretch(turns(session.views), scoped.query.options)
        if way:
            pages = tuple(row["path"] for row in way)
            ways.setdefault(pages, []).append(way[0]["visitor_hash"])
    total = sum(len(walkers) for walkers in ways.values())
    result: list[ResultRow] = [
        {
            "name": " → ".join(pages),
            "steps": len(pages),
            "sessions": len(walkers),
            "visitors": len(set(walkers) - {None}),
            "percentage": percent(len(walkers), total),
        }
        for pages, walkers in ways.items()
    ]
    return ordered(result, "-sessions", "name", "steps", "visitors")


def turns(views: list[Row]) -> list[Row]:
    """Views with a path; of the same page in a row only the first."""
    found: list[Row] = []
    for row in views:
        if row.get("path") is not None and (not found or found[-1]["path"] != row["path"]):
            found.append(row)
    return found


def stretch(pages: list[Row], options: Mapping[str, Any]) -> list[Row]:
    """The pages of a session from `from` to `to`, at most `max_steps`."""
    start, end, most = options.get("from"), options.get("to"), options.get("max_steps", 5)
    names = [row["path"] for row in pages]
    first = 0
    if start is not None:
        if start not in names:
            return []
        first = names.index(start)
    if end is None:
        return pages[first : first + most]
    if end not in names[first:]:
        return []
    last = names.index(end, first)
    if start is None:
        return pages[max(0, last - most + 1) : last + 1]
    return pages[first : last + 1] if last - first < most else []


PERIODS = {"day": "daily", "week": "weekly", "month": "monthly"}


def retention(scoped: ScopedRows) -> list[ResultRow]:
    """Cohorts by the bucket in which visitors first came in the span."""
    period = scoped.query.options.get("period", "week")
    zone = scoped.query.zone
    labels = [
        label
        for label, _ in wall_clock.points(scoped.start_ms, scoped.end_ms, zone, PERIODS[period])
    ]
    came: dict[str, list[str]] = {}
    for who, held in grouped(scoped.events, lambda row: row["anonymous_id"]).items():
        came[who] = [wall_clock.bucket(row["ms"], zone, PERIODS[period])[0] for row in held]
    result: list[ResultRow] = []
    for first, cohort in enumerate(labels):
        members = [buckets for buckets in came.values() if buckets[0] == cohort]
        for later, label in enumerate(labels[first:]):
            back = sum(label in buckets for buckets in members)
            result.append(
                {
                    "date": cohort,
                    "period": later,
                    "visitors": len(members),
                    "returned": back,
                    "rate": percent(back, len(members)),
                    "complete": ends(label, period, zone) <= min(scoped.end_ms, NOW),
                }
            )
    return result


def ends(label: str, period: str, zone: str) -> int:
    """The instant at which a bucket is over."""
    day = date.fromisoformat(label)
    beyond = day + timedelta(days={"day": 1, "week": 7, "month": 31}[period])
    return wall_clock.first_instant(beyond.replace(day=1) if period == "month" else beyond, zone)


STEPS: Oracles = {
    "funnel": Oracle(funnel),
    "goals": Oracle(goals),
    "paths": Oracle(paths),
    "retention": Oracle(retention, 10_000),
}
