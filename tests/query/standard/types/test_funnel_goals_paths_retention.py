"""funnel, goals, paths and retention: numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_error, an_event
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
            "Unknown column 'contry' in table 'events'; did you mean 'country'?",
        ),
    ],
)
def test_a_wrong_option_is_told_by_its_field(
    service: InProcessService, own: dict[str, Any], message: str
) -> None:
    entry = service.query({"name": "funnel", **own}, "summary").json["data"]

    assert (entry[0]["success"], entry[0]["error"], entry[1]["success"]) == (False, message, True)


def test_goals_are_a_share_of_all_who_came(service: InProcessService) -> None:
    service.holds(
        a_view("/a", visitor="u1"),
        a_view("/thanks", visitor="u1"),
        a_view("/a", visitor="u2", session="s2"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("signup", visitor="u1"),
        an_event("signup", visitor="u1"),
    )

    goals = [{"event": "signup"}, {"path": "/thanks", "label": "bought"}, {"event": "never"}]
    assert service.rows({"name": "goals", "goals": goals}) == [
        {
            "name": "signup",
            "conversions": 2,
            "visitors": 1,
            "sessions": 1,
            "conversion_rate": 33.33,
            "value": None,
        },
        {
            "name": "bought",
            "conversions": 1,
            "visitors": 1,
            "sessions": 1,
            "conversion_rate": 33.33,
            "value": None,
        },
        {
            "name": "never",
            "conversions": 0,
            "visitors": 0,
            "sessions": 0,
            "conversion_rate": 0.0,
            "value": None,
        },
    ]


def walk(service: InProcessService, session: str, *pages: str) -> None:
    for second, page in enumerate(pages):
        service.holds(a_view(page, session=session, visitor=session, at=at(f"12:00:{second:02}")))


def ways(service: InProcessService, **own: Any) -> list[tuple[str, int, int, float]]:
    rows = service.rows({"name": "paths", **own})
    return [(row["name"], row["steps"], row["sessions"], row["percentage"]) for row in rows]


def test_ways_collapse_repeats_and_may_have_a_begin_and_an_end(service: InProcessService) -> None:
    walk(service, "s1", "/a", "/b", "/b", "/c", "/d")
    walk(service, "s2", "/a", "/b", "/c")
    walk(service, "s3", "/x", "/a", "/b", "/c")

    assert ways(service, max_steps=3) == [
        ("/a → /b → /c", 3, 2, 66.67),
        ("/x → /a → /b", 3, 1, 33.33),
    ]
    assert ways(service, **{"from": "/b"}) == [
        ("/b → /c", 2, 2, 66.67),
        ("/b → /c → /d", 3, 1, 33.33),
    ]
    assert ways(service, to="/c", max_steps=2) == [("/b → /c", 2, 3, 100.0)]
    assert ways(service, **{"from": "/a", "to": "/c"}) == [("/a → /b → /c", 3, 3, 100.0)]
    assert ways(service, **{"from": "/a", "to": "/d"}, max_steps=3) == []
    assert ways(service, **{"from": "/d", "to": "/a"}) == []


def test_steps_of_sessions_leave_out_reloads(service: InProcessService) -> None:
    walk(service, "s1", "/a", "/a", "/b", "/a", "/b")
    walk(service, "s2", "/b", "/a")

    assert service.rows("session_flow") == [
        {"from_path": "/a", "to_path": "/b", "name": "/a → /b", "transitions": 2, "sessions": 1},
        {"from_path": "/b", "to_path": "/a", "name": "/b → /a", "transitions": 2, "sessions": 2},
    ]


def test_retention_follows_cohorts_and_marks_what_is_not_over(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", at="2026-11-16T12:00:00Z"),
        a_view("/", visitor="u2", at="2026-11-17T12:00:00Z"),
        a_view("/", visitor="u1", at="2026-11-23T12:00:00Z"),
        a_view("/", visitor="u3", at="2026-11-24T12:00:00Z"),
        a_view("/", visitor="u2", at="2026-11-30T00:30:00Z"),
    )
    # it is Monday the 30th, 00:53 UTC
    span = {"startDate": "2026-11-16", "endDate": "2026-12-06"}

    rows = service.rows({"name": "retention", "period": "week"}, **span)

    assert [tuple(row.values())[:6] for row in rows] == [
        ("2026-11-16", 0, 2, 2, 100.0, True),
        ("2026-11-16", 1, 2, 1, 50.0, True),
        ("2026-11-16", 2, 2, 1, 50.0, False),
        ("2026-11-23", 0, 1, 1, 100.0, True),
        ("2026-11-23", 1, 1, 0, 0.0, False),
        ("2026-11-30", 0, 0, 0, 0.0, False),
    ]


def test_a_day_of_retention_is_a_day_of_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-10T22:30:00Z"),  # 23:30 in Berlin
        a_view("/", at="2026-11-10T23:30:00Z"),  # the day after
    )
    span = {"startDate": "2026-11-10", "endDate": "2026-11-11", "timezone": "Europe/Berlin"}

    rows = service.rows({"name": "retention", "period": "day"}, **span)

    assert [(row["date"], row["period"], row["visitors"], row["returned"]) for row in rows] == [
        ("2026-11-10", 0, 1, 1),
        ("2026-11-10", 1, 1, 1),
        ("2026-11-11", 0, 0, 0),
    ]


def test_too_many_cohorts_are_refused(service: InProcessService) -> None:
    message = service.query({"name": "retention", "period": "day"}, startDate="2026-01-01").json[
        "data"
    ]

    assert message[0]["error"] == (
        "'period' day makes 334 cohorts in this time range; at most 100 are allowed"
    )


def test_a_timeline_is_of_one_visitor_with_their_errors(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00"), referrer_name="Google"),
        an_event("signup", path="/a", at=at("12:00:10"), properties='{"plan":"pro"}'),
        an_error("boom", path="/a", at=at("12:00:05")),
        a_view("/b", visitor="u2", at=at("12:00:00")),
        an_error("other", visitor="u2", at=at("12:00:00")),
    )
    one = [{"field": "anonymous_id", "op": "eq", "value": "u1"}]

    rows = service.rows("visitor_timeline", filters=one)

    assert [(row["time"][11:19], row["kind"], row["name"]) for row in rows] == [
        ("12:00:00", "page_view", "screen_view"),
        ("12:00:05", "error", "boom"),
        ("12:00:10", "event", "signup"),
    ]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("visitor_timeline", "anonymous_id"),
        ("profile_detail", "anonymous_id"),
        ("profile_sessions", "anonymous_id"),
        ("session_events", "session_id"),
    ],
)
def test_a_missing_filter_fails_its_parameter_alone(
    service: InProcessService, name: str, field: str
) -> None:
    entries = service.query(name, "summary").json["data"]

    assert [entry["success"] for entry in entries] == [False, True]
    assert entries[0]["error"].startswith(f"Missing required filter: '{field}'")
