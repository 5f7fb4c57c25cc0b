"""The visitors behind a number of a funnel, of goals, of retention or of paths."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow
from tests.oracle.aggregates import visitors as number_of_visitors
from tests.oracle.breakdown import of_group, value_of
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.types.funnel_goals_paths_retention import (
    PERIODS,
    begun_by,
    called,
    is_step,
    people_of_cohorts,
    returns,
    touched,
    walks_of,
    ways_of,
)
from tests.oracle.types.session_lists import profiles

Options = Mapping[str, Any]


def of_funnel(scoped: ScopedRows, of: Options) -> set[Any]:
    walks = of_group(of, walks_of(scoped, of), lambda walk: begun_by(of, walk), len)
    number = of["step"] - 1
    if of.get("outcome") == "dropped":
        meant = [events for events, steps in walks if number - 1 in steps and number not in steps]
    else:
        meant = [events for events, steps in walks if number in steps]
    return {row["anonymous_id"] for events in meant for row in events}


def of_goals(scoped: ScopedRows, of: Options) -> set[Any]:
    goal = next(each for each in of["goals"] if called(each) == of["goal"])
    rows = of_group(of, scoped.events, touched(scoped, of), number_of_visitors)
    done = {row["anonymous_id"] for row in rows if is_step(row, goal)}
    if of.get("outcome") == "not_converted":
        return {row["anonymous_id"] for row in rows} - done
    return done


def of_retention(scoped: ScopedRows, of: Options) -> set[Any]:
    period, zone = of.get("period", "week"), scoped.query.zone
    later = date.fromisoformat(of["date"])
    for _ in range(of.get("after", 0)):
        later += timedelta(days={"day": 1, "week": 7, "month": 31}[period])
        later = later.replace(day=1) if period == "month" else later

    def label(row: Row) -> str:
        return wall_clock.bucket(row["ms"], zone, PERIODS[period])[0]

    people = of_group(
        of,
        people_of_cohorts(scoped, of),
        lambda held: value_of(held[0], of["breakdown"]),
        len,
    )
    stays = of.get("outcome") != "not_returned"
    return {
        held[0]["anonymous_id"]
        for held in people
        if label(held[0]) == of["date"]
        and stays is (later.isoformat() in map(label, returns(held, of)))
    }


def of_paths(scoped: ScopedRows, of: Options) -> set[Any]:
    pairs = of_group(
        of, ways_of(scoped, of), lambda pair: value_of(pair[0][0], of["breakdown"]), len
    )
    return {
        way[0]["anonymous_id"]
        for _, way in pairs
        if " → ".join(row["path"] for row in way) == of["path"]
    }


BEHIND = {
    "funnel": of_funnel,
    "goals": of_goals,
    "retention": of_retention,
    "paths": of_paths,
}


def visitors(scoped: ScopedRows) -> list[ResultRow]:
    of = scoped.query.options["of"]
    meant = BEHIND[of["name"]](scoped, of) - {None}
    events = scoped.visit_events if of["name"] == "paths" else scoped.events
    return profiles(scoped, [row for row in events if row["anonymous_id"] in meant])


VISITORS: Oracles = {"visitors": Oracle(visitors)}
