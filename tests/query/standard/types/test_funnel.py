"""Funnels, with numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"


def funnel(service: InProcessService, **more: Any) -> list[tuple[Any, ...]]:
    """Name, visitors and median seconds of each step from /a by `signup` to /c."""
    steps = [{"path": "/a"}, {"event": "signup"}, {"path": "/c", "label": "done"}]
    rows = service.rows({"name": "funnel", "steps": steps, **more})
    return [(row["name"], row["visitors"], row["median_seconds"]) for row in rows]


def test_a_funnel_counts_who_goes_through_its_steps_in_order(service: InProcessService) -> None:
    service.holds(
        # u1: all three, 60 s and 30 s apart
        a_view("/a", at=at("12:00:00")),
        an_event("signup", at=at("12:01:00")),
        a_view("/c", at=at("12:01:30")),
        # u2: two, 20 s apart
        a_view("/a", visitor="u2", at=at("12:00:00")),
        an_event("signup", visitor="u2", at=at("12:00:20")),
        # u3: the last before the first
        a_view("/c", visitor="u3", at=at("11:00:00")),
        a_view("/a", visitor="u3", at=at("12:00:00")),
        # u4: signs up without having seen /a
        an_event("signup", visitor="u4", at=at("12:00:00")),
        a_view("/c", visitor="u4", at=at("12:00:10")),
    )
    steps = [{"path": "/a"}, {"event": "signup"}, {"path": "/c", "label": "done"}]

    assert service.rows({"name": "funnel", "steps": steps}) == [
        {
            "step": 1,
            "name": "/a",
            "visitors": 3,
            "conversion_rate": 100.0,
            "step_rate": 100.0,
            "dropped": 0,
            "drop_off_rate": 0.0,
            "median_seconds": None,
        },
        {
            "step": 2,
            "name": "signup",
            "visitors": 2,
            "conversion_rate": 66.67,
            "step_rate": 66.67,
            "dropped": 1,
            "drop_off_rate": 33.33,
            "median_seconds": 40.0,
        },
        {
            "step": 3,
            "name": "done",
            "visitors": 1,
            "conversion_rate": 33.33,
            "step_rate": 50.0,
            "dropped": 1,
            "drop_off_rate": 50.0,
            "median_seconds": 30.0,
        },
    ]


def test_the_window_begins_with_the_latest_first_step(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00")),
        a_view("/a", at=at("12:10:00")),
        an_event("signup", at=at("12:10:30")),
        a_view("/c", at=at("12:11:00")),
    )

    assert funnel(service, window=60) == [("/a", 1, None), ("signup", 1, 30.0), ("done", 1, 30.0)]
    assert funnel(service, window=59) == [("/a", 1, None), ("signup", 1, 30.0), ("done", 0, None)]
    assert funnel(service, window=29) == [("/a", 1, None), ("signup", 0, None), ("done", 0, None)]


def test_one_event_is_one_step(service: InProcessService) -> None:
    service.holds(a_view("/a"))
    twice = [{"path": "/a"}, {"path": "/a"}]

    assert [r["visitors"] for r in service.rows({"name": "funnel", "steps": twice})] == [1, 0]

    service.holds(a_view("/a"))
    assert [r["visitors"] for r in service.rows({"name": "funnel", "steps": twice})] == [1, 1]


def test_a_funnel_by_session_does_not_join_two_visits(service: InProcessService) -> None:
    service.holds(
        a_view("/a", session="s1", at=at("12:00:00")),
        an_event("signup", session="s2", at=at("13:00:00")),
    )

    assert [row[1] for row in funnel(service)] == [1, 1, 0]
    assert [row[1] for row in funnel(service, by="session")] == [1, 0, 0]


def test_a_step_may_have_filters(service: InProcessService) -> None:
    service.holds(
        a_view("/a", country="DE", visitor="u1", at=at("12:00:00")),
        a_view("/a", country="FR", visitor="u2", at=at("12:00:00")),
        an_event("signup", visitor="u1", at=at("12:01:00")),
        an_event("signup", visitor="u2", at=at("12:01:00")),
    )
    german = {"path": "/a", "filters": [{"field": "country", "op": "eq", "value": "DE"}]}

    rows = service.rows({"name": "funnel", "steps": [german, {"event": "signup"}]})

    assert [row["visitors"] for row in rows] == [1, 1]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({}, "'parameters[0].steps' is missing"),
        ({"steps": [{"path": "/a"}]}, "'parameters[0].steps' must have at least 2 elements"),
        (
            {"steps": [{"path": "/a"}, {}]},
            "'steps[1]' must have one of 'event', 'path', 'goal' and 'name'",
        ),
        (
            {"steps": [{"path": "/a"}, {"path": "/b"}], "by": "person"},
            "'parameters[0].by' has a value that is not allowed: 'person'; "
            "allowed are session, visitor",
        ),
        (
            {
                "steps": [
                    {"path": "/a"},
                    {"event": "b", "filters": [{"field": "contry", "op": "is_null"}]},
                ]
            },
            "Unknown column 'contry' in table 'events', at 'steps[1].filters[0].field'; "
            "did you mean 'country'?",
        ),
    ],
)
def test_a_wrong_option_is_told_by_its_field(
    service: InProcessService, own: dict[str, Any], message: str
) -> None:
    entry = service.query({"name": "funnel", **own}, "summary").json["data"]

    assert (entry[0]["success"], entry[0]["error"], entry[1]["success"]) == (False, message, True)
