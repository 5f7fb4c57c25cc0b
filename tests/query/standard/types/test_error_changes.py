"""Errors against the time before: the states of groups, with counts worked out by hand."""

from typing import Any

from tests.query.lake import Stored, an_error
from tests.query.query_service import InProcessService

WEEK: dict[str, Any] = {"startDate": "2026-11-17", "endDate": "2026-11-23"}
"""Compared with November 10 to 16; what is new has nothing from August 12 on."""


def errors(message: str, day: str, count: int, visitor: str = "u") -> list[Stored]:
    """Errors of one day, each of another visitor."""
    return [
        an_error(message, at=f"2026-{day}T12:00:00Z", visitor=f"{visitor}{at}")
        for at in range(count)
    ]


def states(
    service: InProcessService, range_: dict[str, Any] = WEEK, **options: Any
) -> dict[str, tuple[Any, ...]]:
    rows = service.rows({"name": "error_changes", **options}, **range_)
    fields = ("state", "since", "count", "previous_count", "users")
    return {row["name"]: tuple(row[field] for field in fields) for row in rows}


def test_a_group_is_new_back_worse_steady_or_better(service: InProcessService) -> None:
    service.holds(
        *errors("new", "11-18", 1),
        *errors("forgotten", "08-01", 1),  # 108 days before the week: not read
        *errors("forgotten", "11-19", 1),
        *errors("back", "11-09", 1),  # the day before the week that is compared with
        *errors("back", "11-20", 1),
        *errors("worse", "11-10", 2),  # at most 2 on a day before
        *errors("worse", "11-16", 2),
        *errors("worse", "11-17", 2),
        *errors("worse", "11-21", 3),  # the first day with more
        *errors("worse", "11-22", 9),  # 14 - 4 = 10, more than 2 * sqrt(18) = 8.5
        *errors("steady", "11-12", 1),
        *errors("steady", "11-19", 4),  # 4 - 1 = 3, less than 2 * sqrt(5) = 4.5
        *errors("better", "11-12", 9),
        *errors("better", "11-19", 1),  # 9 - 1 = 8, more than 2 * sqrt(10) = 6.3
        *errors("gone", "11-12", 5),
    )

    assert states(service) == {
        "worse": ("worse", "2026-11-21", 14, 4, 9),
        "back": ("back", "2026-11-20", 1, 0, 1),
        "forgotten": ("new", "2026-11-19", 1, 0, 1),
        "new": ("new", "2026-11-18", 1, 0, 1),
        "steady": ("steady", None, 4, 1, 4),
        "better": ("better", None, 1, 9, 1),
    }
    assert list(states(service)) == ["worse", "back", "forgotten", "new", "steady", "better"]
    assert list(states(service, state="new")) == ["forgotten", "new"]
    assert service.rows("error_states", **WEEK) == [
        {"state": "new", "groups": 2, "errors": 2},
        {"state": "back", "groups": 1, "errors": 1},
        {"state": "better", "groups": 1, "errors": 1},
        {"state": "steady", "groups": 1, "errors": 4},
        {"state": "worse", "groups": 1, "errors": 14},
    ]


def test_a_day_that_is_not_over_is_compared_with_the_same_hours(service: InProcessService) -> None:
    service.holds(  # it is 2026-11-30T00:53:20Z
        an_error("early", at="2026-11-29T00:53:19Z"),
        an_error("early", at="2026-11-30T00:10:00Z"),
        an_error("late", at="2026-11-29T00:53:21Z"),
        an_error("late", at="2026-11-30T00:10:00Z"),
    )
    today = {"startDate": "2026-11-30", "endDate": "2026-11-30"}

    assert states(service, today) == {
        "early": ("steady", None, 1, 1, 1),
        "late": ("steady", None, 1, 0, 1),  # it was there yesterday, later than now
    }


def test_the_time_before_has_as_many_days_where_clocks_change(service: InProcessService) -> None:
    service.holds(  # in Berlin the 25th of October has 25 hours
        an_error("first hour", at="2026-10-24T22:30:00Z"),
        an_error("first hour", at="2026-10-26T12:00:00Z"),
    )
    day = {"startDate": "2026-10-26", "endDate": "2026-10-26", "timezone": "Europe/Berlin"}

    assert states(service, day)["first hour"] == ("steady", None, 1, 1, 1)


def test_it_has_no_comparison_beside_its_own(service: InProcessService) -> None:
    [entry] = service.query("error_changes", compare="previous_period", **WEEK).json["data"]

    assert entry["error"] == (
        "Query type 'error_changes' compares by itself and does not support 'compare'"
    )


def test_where_it_happens_is_of_the_time_range(service: InProcessService) -> None:
    service.holds(
        an_error("boom", at="2026-11-11T12:00:00Z", path="/old", browser_name="Safari"),
        an_error("boom", at="2026-11-18T12:00:00Z", path="/a", browser_name="Chrome", session="s1"),
        an_error("boom", at="2026-11-19T12:00:00Z", path="/b", browser_name="Chrome", session="s2"),
    )

    [row] = service.rows("error_changes", **WEEK)
    fields = ("path", "pages", "browser_name", "browsers", "sessions")
    assert tuple(row[field] for field in fields) == ("/b", 2, "Chrome", 1, 2)
    assert (row["first_seen"], row["last_seen"], row["last_before"]) == (
        "2026-11-18T12:00:00.000Z",
        "2026-11-19T12:00:00.000Z",
        "2026-11-11T12:00:00.000Z",
    )


def test_messages_with_other_numbers_are_one_group(service: InProcessService) -> None:
    service.holds(
        *errors("no order 1", "11-12", 1),
        *errors("no order 2", "11-18", 1),
        *errors("no order 3", "11-19", 2),
        *errors("no user", "11-19", 1),
    )

    assert states(service, by="message_pattern") == {
        "no user": ("new", "2026-11-19", 1, 0, 1),
        "no order #": ("steady", None, 3, 1, 2),  # 3 - 1 = 2, less than 2 * sqrt(4) = 4
    }
    assert states(service, by="message_pattern", state="new").keys() == {"no user"}
    assert states(service).keys() == {"no order 2", "no order 3", "no user"}
    assert service.rows({"name": "error_states", "by": "message_pattern"}, **WEEK) == [
        {"state": "new", "groups": 1, "errors": 1},
        {"state": "steady", "groups": 1, "errors": 3},
    ]
