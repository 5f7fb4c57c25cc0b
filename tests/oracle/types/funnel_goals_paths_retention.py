"""Ordered steps: funnels, goals, page paths and retention."""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from typing import Any

from tests.oracle import wall_clock
from tests.oracle.aggregates import (
    ResultRow,
    distinct,
    grouped,
    hidden,
    is_view,
    median,
    ordered,
    percent,
    rounded,
    visitors,
)
from tests.oracle.amounts import amount
from tests.oracle.breakdown import split, value_of
from tests.oracle.filters import all_hold
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row, unix_ms
from tests.oracle.visits import read_as
from tests.query.query_service import NOW

Step = Mapping[str, Any]
Walk = tuple[list[Row], dict[int, int | None]]
"""The events of one, and the steps that were reached."""


def is_step(row: Row, step: Step) -> bool:
    """Whether the row is an event of that name, or a view of that path, and its filters hold."""
    if "path" in step:
        same = is_view(row) and is_path(row.get("path"), step["path"])
    else:
        same = row["name"] == step["event"]
    return same and all_hold(row, [read_as(each) for each in step.get("filters", ())])


def called(step: Step) -> str:
    """Name of a step."""
    return str(step.get("label") or step.get("event") or step["path"])


def is_path(path: str | None, pattern: str) -> bool:
    """Whether a path matches a step's, in which `*` stands for any characters."""
    texts = ".*".join(map(re.escape, pattern.split("*")))
    return path is not None and re.fullmatch(texts, path, re.DOTALL) is not None


def funnel(scoped: ScopedRows) -> list[ResultRow]:
    """How many reach each step, each time in the order of the steps and inside the window."""
    options = scoped.query.options
    steps = options["steps"]

    def stages(walks: list[Walk]) -> list[ResultRow]:
        waits = [[walk[n] for _, walk in walks if n in walk] for n in range(len(steps))]
        return [stage(steps, number, waits) for number in range(len(steps))]

    return split(options, walks_of(scoped, options), partial(begun_by, options), len, stages)


def walks_of(scoped: ScopedRows, options: Mapping[str, Any]) -> list[Walk]:
    """What each visitor or session that begins the funnel did, and the steps that it reached."""
    key = "session_id" if options.get("by") == "session" else "anonymous_id"
    walks = [
        (events, walked(events, options["steps"], window_of(options), breaks(options)))
        for events in grouped(scoped.events, lambda row: row[key]).values()
    ]
    return [walk for walk in walks if walk[1]]


def funnel_trend(scoped: ScopedRows) -> list[ResultRow]:
    """Walks by the bucket of their first row that is a first step."""
    options = scoped.query.options
    walks = walks_of(scoped, options)
    known_until = min(scoped.end_ms, NOW) - window_of(options)
    zone, granularity = scoped.query.zone, scoped.query.granularity
    result: list[ResultRow] = []
    for point in scoped.points:
        here = [steps for events, steps in walks if scoped.bucket(entry(events, options)) == point]
        converted = sum(len(options["steps"]) - 1 in steps for steps in here)
        result.append(
            {
                "date": point[0],
                "entered": len(here),
                "converted": converted,
                "conversion_rate": percent(converted, len(here)),
                "complete": False,
            }
        )
    # a bucket is over when a later one has begun
    over = wall_clock.bucket(known_until, zone, granularity)
    begun = scoped.points.index(over) if over in scoped.points else 0
    return [{**row, "complete": i < begun} for i, row in enumerate(result)]


def entry(events: list[Row], options: Mapping[str, Any]) -> Row:
    """The first row that is a first step."""
    return next(row for row in events if is_step(row, options["steps"][0]))


def window_of(options: Mapping[str, Any]) -> int:
    """Milliseconds from the first step to the last."""
    return int(options.get("window", 7 * 86_400)) * 1000


def begun_by(options: Mapping[str, Any], walk: Walk) -> str | None:
    """The value of the first row that is a first step."""
    return value_of(entry(walk[0], options), options["breakdown"])


def breaks(options: Mapping[str, Any]) -> Callable[[Row], bool]:
    """Says whether a row breaks a chain that it lies in, between the rows of two steps."""
    excluded, strict = options.get("exclusions", ()), options.get("order") == "strict"
    return lambda row: (
        (strict and row["name"] != "page_exit") or any(is_step(row, each) for each in excluded)
    )


def walked(
    events: list[Row], steps: list[Step], window_ms: int, is_break: Callable[[Row], bool]
) -> dict[int, int | None]:
    """The steps that one reached, with the time since the step before when they first did."""
    found: dict[int, int | None] = {}
    broken = [is_break(row) for row in events]
    before: list[set[int]] = []
    for number, step in enumerate(steps):
        here: list[set[int]] = []
        for i, row in enumerate(events):
            unbroken = [j for j in range(i) if not any(broken[j + 1 : i])] if number else []
            begun = set().union(*(before[j] for j in unbroken)) if number else {row["ms"]}
            alive = {at for at in begun if row["ms"] - at <= window_ms}
            here.append(alive if is_step(row, step) else set())
            if here[-1] and number not in found:
                earlier = [events[j]["ms"] for j in unbroken if before[j]]
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
    options = scoped.query.options
    return split(
        options,
        scoped.events,
        touched(scoped, options),
        visitors,
        lambda rows: [reached(rows, goal) for goal in options["goals"]],
    )


def touched(scoped: ScopedRows, options: Mapping[str, Any]) -> Callable[[Row], str | None]:
    """Gives the value that counts for a row: its own, or that of its visitor's first one."""
    if options.get("attribution") != "first_touch":
        return lambda row: value_of(row, options["breakdown"])
    firsts = {
        who: value_of(rows[0], options["breakdown"])
        for who, rows in grouped(scoped.events, lambda row: row["anonymous_id"]).items()
    }
    return lambda row: firsts.get(row["anonymous_id"])


def reached(rows: list[Row], goal: Step) -> ResultRow:
    """One row of goals."""
    held = [row for row in rows if is_step(row, goal)]
    return {
        "name": called(goal),
        "conversions": len(held),
        "visitors": visitors(held),
        "sessions": distinct(held, "session_id"),
        "conversion_rate": percent(visitors(held), visitors(rows)),
        "value": total_value(held, goal),
    }


def total_value(rows: list[Row], goal: Step) -> float | None:
    """The sum of the numbers in the goal's property; None when it has none."""
    if "value" not in goal:
        return None
    amounts = (amount(row, goal["value"]) for row in rows)
    return rounded(sum((each for each in amounts if each is not None), Fraction()), 4)


def paths(scoped: ScopedRows) -> list[ResultRow]:
    """A way is walked by the visitor who viewed its first page."""
    options = scoped.query.options
    result = split(
        options,
        ways_of(scoped, options),
        lambda pair: value_of(pair[0][0], options["breakdown"]),
        len,
        lambda pairs: ways([way for _, way in pairs]),
    )
    groups = [(row.get("breakdown"), row.get("other")) for row in result]
    ranked = [
        {**row, "_rank": groups.index(group)} for row, group in zip(result, groups, strict=True)
    ]
    return hidden(ordered(ranked, "-sessions", "name", "steps", "visitors", "_rank"))


def ways_of(scoped: ScopedRows, options: Mapping[str, Any]) -> list[tuple[list[Row], list[Row]]]:
    """The pages of each session, and the stretch of them that the options select."""
    return [
        (pages, way)
        for session in sessions(scoped.visit_events)
        if (way := stretch(pages := turns(session.views), options))
    ]


def ways(walked_ways: list[list[Row]]) -> list[ResultRow]:
    """The different ways, with those who walked them."""
    walkers: dict[tuple[str, ...], list[int | None]] = {}
    for way in walked_ways:
        walkers.setdefault(tuple(row["path"] for row in way), []).append(way[0]["visitor_hash"])
    return [
        {
            "name": " → ".join(pages),
            "steps": len(pages),
            "sessions": len(those),
            "visitors": len(set(those) - {None}),
            "percentage": percent(len(those), len(walked_ways)),
        }
        for pages, those in walkers.items()
    ]


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
    """Cohorts by the bucket in which visitors first came: ever, or in the span."""
    options = scoped.query.options
    return split(
        options,
        people_of_cohorts(scoped, options),
        lambda held: value_of(held[0], options["breakdown"]),
        len,
        lambda people: cohorts(scoped, people),
    )


def people_of_cohorts(scoped: ScopedRows, options: Mapping[str, Any]) -> list[list[Row]]:
    """The events of each visitor who is in a cohort, from the one that begins it."""
    people = list(grouped(scoped.events, lambda row: row["anonymous_id"]).values())
    if "start" in options:
        starts = [[is_step(row, options["start"]) for row in held] for held in people]
        return [
            held[begins.index(True) :]
            for held, begins in zip(people, starts, strict=True)
            if any(begins)
        ]
    if options.get("cohort") == "first_in_range":
        return people
    width, zone = PERIODS[options.get("period", "week")], scoped.query.zone

    def began(held: list[Row]) -> bool:
        first = unix_ms(held[0]["visitor.first_seen"])
        bucket = wall_clock.bucket(held[0]["ms"], zone, width)
        return first >= scoped.start_ms and wall_clock.bucket(first, zone, width) == bucket

    return [held for held in people if began(held)]


def returns(held: list[Row], options: Mapping[str, Any]) -> list[Row]:
    """The events of a visitor of a cohort that count as a return."""
    return [row for row in held if "returning" not in options or is_step(row, options["returning"])]


def cohorts(scoped: ScopedRows, people: list[list[Row]]) -> list[ResultRow]:
    """The cells of some visitors, given by their events."""
    period = scoped.query.options.get("period", "week")
    zone = scoped.query.zone
    labels = [
        label
        for label, _ in wall_clock.points(scoped.start_ms, scoped.end_ms, zone, PERIODS[period])
    ]

    def label_of(row: Row) -> str:
        return wall_clock.bucket(row["ms"], zone, PERIODS[period])[0]

    came = [
        (label_of(held[0]), {label_of(row) for row in returns(held, scoped.query.options)})
        for held in people
    ]
    result: list[ResultRow] = []
    for first, cohort in enumerate(labels):
        members = [buckets for begun, buckets in came if begun == cohort]
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
    "funnel": Oracle(funnel, 1_000),
    "funnel_trend": Oracle(funnel_trend, series=True),
    "goals": Oracle(goals, 2_000),
    "paths": Oracle(paths),
    "retention": Oracle(retention, 10_000),
}
