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


def walk(service: InProcessService, visitor: str, *names: str) -> None:
    """Rows of a visitor, ten seconds apart: page views of paths, and events."""
    for i, name in enumerate(names):
        session, clock = visitor, at(f"12:0{i // 6}:{i % 6}0")
        if name.startswith("other:"):
            session, name = f"{visitor}-2", name.removeprefix("other:")
        row = a_view if name.startswith("/") else an_event
        service.holds(row(name, visitor=visitor, session=session, at=clock))


def test_a_strict_funnel_has_no_other_rows_between_its_steps(service: InProcessService) -> None:
    walk(service, "u1", "/a", "signup", "/c")
    walk(service, "u2", "/a", "/b", "signup", "/c")
    # page exits are sent by the tracker alone
    walk(service, "u3", "/a", "page_exit", "signup", "page_exit", "page_exit", "/c")
    walk(service, "u4", "/a", "/b", "/a", "signup", "page_exit", "/b", "/c")
    # another tab is another session
    walk(service, "u5", "/a", "other:/b", "signup")

    assert funnel(service) == [("/a", 5, None), ("signup", 5, 20.0), ("done", 4, 20.0)]
    assert funnel(service, order="sequence") == funnel(service)
    assert funnel(service, order="strict") == [
        ("/a", 5, None),
        ("signup", 3, 10.0),
        ("done", 2, 20.0),
    ]
    by_session = funnel(service, order="strict", by="session")
    assert by_session == [("/a", 5, None), ("signup", 4, 15.0), ("done", 2, 20.0)]
    # a page exit that is a step counts, and lies between no others
    exits = [{"path": "/a"}, {"event": "page_exit"}, {"path": "/c"}]
    rows = service.rows({"name": "funnel", "steps": exits, "order": "strict"})
    assert [row["visitors"] for row in rows] == [5, 1, 0]
    # rows that the filters leave out are not between
    without = [{"field": "path", "op": "ne", "value": "/b"}]
    assert [row[1] for row in funnel(service, order="strict", filters=without)] == [5, 5, 4]


def test_an_excluded_row_between_two_steps_breaks_the_chain(service: InProcessService) -> None:
    walk(service, "u1", "/a", "support", "signup", "/c")
    walk(service, "u2", "support", "/a", "signup", "/c", "support")
    # u3 begins anew, u4 does not
    walk(service, "u3", "/a", "support", "/a", "/b", "signup", "/c")
    walk(service, "u4", "/a", "signup", "support", "signup", "/c")
    walk(service, "u5", "/a", "signup", "/c", "signup", "/c")
    french = {"field": "country", "op": "eq", "value": "FR"}

    def reached(*exclusions: Any, **more: Any) -> list[int]:
        return [row[1] for row in funnel(service, exclusions=exclusions, **more)]

    assert reached() == [5, 5, 5]
    assert reached({"event": "support"}) == [5, 4, 3]
    assert reached({"name": "support"}, {"path": "/b"}) == [5, 3, 2]
    assert reached({"event": "support", "filters": [french]}) == [5, 5, 5]
    assert reached({"event": "page_exit"}, order="strict") == [5, 3, 2]
    of = {"name": "funnel", "steps": [{"path": "/a"}, {"event": "signup"}], "step": 2}
    excluded = {**of, "exclusions": [{"event": "support"}], "outcome": "dropped"}
    [listed] = service.rows({"name": "visitors", "of": excluded})
    assert listed["visitor_id"] == "u1"


def test_a_row_that_is_a_step_and_excluded_lies_between_others_only(
    service: InProcessService,
) -> None:
    walk(service, "u1", "/a", "signup", "/c")
    walk(service, "u2", "/a", "/c", "signup", "/c")
    walk(service, "u3", "/a", "signup", "signup", "/c")
    walk(service, "u4", "/a", "/a", "signup", "/c")

    def reached(exclusion: Any) -> list[int]:
        return [row[1] for row in funnel(service, exclusions=[exclusion])]

    assert reached({"path": "/a"}) == [4, 4, 4]
    # of u3 the second one lies between the first and /c, and the first between /a and the second
    assert reached({"event": "signup"}) == [4, 4, 3]
    assert reached({"path": "/c"}) == [4, 3, 3]


def test_what_is_saved_is_excluded_by_its_name(service: InProcessService) -> None:
    walk(service, "u1", "/a", "/help/1", "signup")
    walk(service, "u2", "/a", "signup")
    for kind, body in (
        ("goals", {"name": "Helped", "path": "/help/*"}),
        (
            "segments",
            {"name": "In need", "filters": [{"field": "path", "op": "contains", "value": "help"}]},
        ),
    ):
        made = service.ask("POST", f"/v1/{kind}", body, key="acme-admin", website_id="shop")
        assert made.status == 201

    for exclusion in (
        {"goal": "Helped"},
        {"event": "screen_view", "filters": [{"segment": "In need"}]},
    ):
        assert [row[1] for row in funnel(service, exclusions=[exclusion])] == [2, 1, 0]


def test_a_trend_has_each_visitor_once_when_it_entered(service: InProcessService) -> None:
    def rows(visitor: str, *rows_of: tuple[str, str]) -> None:
        for name, instant in rows_of:
            row = a_view if name.startswith("/") else an_event
            service.holds(row(name, visitor=visitor, session=visitor, at=f"2026-11-{instant}:00Z"))

    rows("u1", ("/a", "26T12:00"), ("signup", "26T12:10"))
    # too late for the first /a; the second is of somebody who entered on the 26th
    rows("u2", ("/a", "26T12:00"), ("signup", "28T10:00"), ("/a", "28T12:00"))
    rows("u2", ("signup", "28T12:05"))
    rows("u3", ("/a", "28T23:00"), ("signup", "29T01:00"))
    rows("u4", ("/a", "30T00:30"))
    steps = {"steps": [{"path": "/a"}, {"event": "signup"}], "window": 86_400}
    span = {"startDate": "2026-11-26", "endDate": "2026-11-30"}

    def trend(own: dict[str, Any] = steps, **more: Any) -> list[tuple[Any, ...]]:
        found = service.rows({"name": "funnel_trend", **own}, **{**span, **more})
        return [tuple(row.values()) for row in found]

    # it is Monday the 30th, 00:53 UTC: the window after the 29th is not over
    assert trend() == [
        ("2026-11-26", 2, 2, 100.0, True),
        ("2026-11-27", 0, 0, 0.0, True),
        ("2026-11-28", 1, 1, 100.0, True),
        ("2026-11-29", 0, 0, 0.0, False),
        ("2026-11-30", 1, 0, 0.0, False),
    ]
    funnel_rows = service.rows({"name": "funnel", **steps}, **span)
    assert [row["visitors"] for row in funnel_rows] == [4, 3]
    assert trend(granularity="weekly") == [
        ("2026-11-23", 3, 3, 100.0, False),
        ("2026-11-30", 1, 0, 0.0, False),
    ]
    # what comes after the time range is not read, so that its last window is never complete
    assert trend(endDate="2026-11-28")[1:] == [
        ("2026-11-27", 0, 0, 0.0, True),
        ("2026-11-28", 1, 0, 0.0, False),
    ]
    late = {**steps, "exclusions": [{"path": "/a"}], "order": "strict", "window": 60}
    assert [row[2] for row in trend(late)] == [0, 0, 0, 0, 0]
    refused = service.query({"name": "funnel_trend", **steps, "breakdown": "channel"})
    assert (refused.status, "breakdown" in refused.json["error"]) == (400, True)


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
        (
            {"steps": [{"path": "/a"}, {"path": "/b"}], "exclusions": [{}]},
            "'exclusions[0]' must have one of 'event', 'path', 'goal' and 'name'",
        ),
        (
            {"steps": [{"path": "/a"}, {"path": "/b"}], "exclusions": [{"goal": "Sign-up"}]},
            "Unknown goal 'Sign-up' in 'parameters[0].exclusions[0]'; there are none, leave it out",
        ),
        (
            {"steps": [{"path": "/a"}, {"path": "/b"}], "exclusions": [{"path": "/c"}] * 6},
            "'parameters[0].exclusions' must have at most 5 elements",
        ),
        (
            {"steps": [{"path": "/a"}, {"path": "/b"}], "order": "any"},
            "'parameters[0].order' has a value that is not allowed: 'any'; "
            "allowed are sequence, strict",
        ),
    ],
)
def test_a_wrong_option_is_told_by_its_field(
    service: InProcessService, own: dict[str, Any], message: str
) -> None:
    entry = service.query({"name": "funnel", **own}, "summary").json["data"]

    assert (entry[0]["success"], entry[0]["error"], entry[1]["success"]) == (False, message, True)
