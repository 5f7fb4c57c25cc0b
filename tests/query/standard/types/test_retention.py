"""Retention of cohorts, with numbers worked out by hand."""

from collections.abc import Sequence
from typing import Any

from query.standard.sql.steps import Step
from query.standard.types.retention import RETENTION, Retention
from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import ask
from tests.query.query_service import InProcessService


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


def test_cohorts_are_of_the_first_event_ever(service: InProcessService) -> None:
    service.holds(
        # there before the time range, also in its first week
        a_view("/", visitor="u1", session="s1", at="2026-10-01T12:00:00Z"),
        a_view("/", visitor="u1", session="s2", at="2026-11-18T12:00:00Z"),
        a_view("/", visitor="u2", session="s3", at="2026-11-16T12:00:00Z"),
        a_view("/", visitor="u2", session="s4", at="2026-11-25T12:00:00Z"),
        # new, and first seen on another page; then on one that the filter keeps
        a_view("/new", visitor="u3", session="s5", at="2026-11-18T13:00:00Z", country="US"),
        a_view("/", visitor="u3", session="s6", at="2026-11-24T12:00:00Z"),
        a_view("/", visitor="u4", session="s7", at="2026-11-19T12:00:00Z"),
    )
    span = {"startDate": "2026-11-18", "endDate": "2026-11-29"}
    root = [{"field": "path", "op": "eq", "value": "/"}]

    def sizes(filters: Sequence[Any] = (), **options: str) -> list[tuple[Any, ...]]:
        asked = {"name": "retention", **options}
        rows = service.rows(asked, **span, filters=list(filters))
        return [tuple(row.values())[1:4] for row in rows]

    assert sizes() == [(0, 2, 2), (1, 2, 1), (0, 0, 0)]
    assert sizes(cohort="first_in_range") == [(0, 3, 3), (1, 3, 1), (0, 1, 1)]
    assert sizes(root) == [(0, 1, 1), (1, 1, 0), (0, 0, 0)]
    assert sizes(root, cohort="first_in_range") == [(0, 2, 2), (1, 2, 0), (0, 2, 2)]
    by_country = {"name": "retention", "breakdown": "country"}
    assert [(row["breakdown"], row["visitors"]) for row in service.rows(by_country, **span)] == [
        (value, size) for value in ("US", None) for size in (1, 1, 0)
    ]
    listed = {"name": "retention", "date": "2026-11-16"}
    found = service.rows({"name": "visitors", "of": listed}, **span)
    assert {row["visitor_id"] for row in found} == {"u3", "u4"}


def test_cohorts_begin_and_return_by_steps(service: InProcessService) -> None:
    def rows(visitor: str, *rows_of: tuple[str, str]) -> None:
        for name, instant in rows_of:
            row = a_view if name.startswith("/") else an_event
            service.holds(row(name, visitor=visitor, session=visitor, at=f"2026-11-{instant}:00Z"))

    rows("u1", ("/", "16T12:00"), ("signup", "17T12:00"), ("order", "18T12:00"))
    rows("u1", ("order", "24T12:00"))
    # ordered before the start only
    rows("u2", ("order", "16T12:00"), ("signup", "17T12:00"), ("/", "25T12:00"))
    rows("u3", ("/", "16T12:00"), ("signup", "24T12:00"), ("order", "24T12:01"))
    rows("u4", ("/", "16T12:00"))
    signup, order = {"event": "signup"}, {"event": "order"}
    span = {"startDate": "2026-11-16", "endDate": "2026-11-29"}
    in_range = {"cohort": "first_in_range"}

    def sizes(**options: Any) -> list[tuple[Any, ...]]:
        found = service.rows({"name": "retention", **options}, **span)
        return [tuple(row.values())[1:4] for row in found]

    assert sizes() == [(0, 4, 4), (1, 4, 3), (0, 0, 0)]
    assert sizes(start=signup, **in_range) == [(0, 2, 2), (1, 2, 2), (0, 1, 1)]
    assert sizes(start=signup, returning=order, **in_range) == [(0, 2, 1), (1, 2, 1), (0, 1, 1)]
    assert sizes(returning=order) == [(0, 4, 2), (1, 4, 2), (0, 0, 0)]
    assert sizes(start=order, returning=order, **in_range) == [(0, 2, 2), (1, 2, 1), (0, 1, 1)]
    nobody = {"event": "order", "filters": [{"field": "path", "op": "eq", "value": "/no"}]}
    assert sizes(start=signup, returning=nobody, **in_range) == [(0, 2, 0), (1, 2, 0), (0, 1, 0)]
    of = {"name": "retention", "start": signup, "returning": order, **in_range}
    listed = {**of, "date": "2026-11-16", "outcome": "not_returned"}
    found = service.rows({"name": "visitors", "of": listed}, **span)
    assert [row["visitor_id"] for row in found] == ["u2"]


def test_a_start_is_in_the_time_range(service: InProcessService) -> None:
    def error(**options: Any) -> str:
        [entry] = service.query({"name": "retention", **options}).json["data"]
        return str(entry["error"])

    assert error(start={"event": "signup"}) == (
        "'start' needs 'cohort': 'first_in_range'; cohorts of 'first_ever' begin with the first "
        "event ever, whichever it is, as events before the time range are not read"
    )
    assert error(returning={"goal": "Order"}) == (
        "Unknown goal 'Order' in 'parameters[0].returning'; there are none, leave it out"
    )
    assert error(returning={}) == (
        "'returning' must have one of 'event', 'path', 'goal' and 'name'"
    )


def test_rollups_have_no_events_of_steps() -> None:
    [retention] = RETENTION
    order = Step(event="order")

    assert retention.rollup_plan(Retention(returning=order)) is None
    assert retention.rollup_plan(Retention(cohort="first_in_range", start=order)) is None
    assert retention.rollup_plan(Retention()) is not None


def test_ids_of_one_day_are_told(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="d1", at="2026-11-24T12:00:00Z", visitor_made=True),
        a_view("/a", visitor="d1", at="2026-11-24T12:01:00Z", visitor_made=True),
        a_view("/", visitor="u1", at="2026-11-25T12:00:00Z", visitor_made=False),
    )
    warning = {
        "code": "DAILY_VISITOR_IDS",
        "message": "2 events came without a visitor id; theirs is derived anew each day, so that "
        "nobody is recognized on a later day: such visitors are always new, and never return",
        "count": 2,
    }

    def warnings(day: str, *parameters: Any, **more: Any) -> list[Any]:
        reply = service.query(*parameters, startDate=day, endDate=day, **more)
        return [entry["meta"].get("warnings", []) for entry in reply.json["data"]]

    names = ("retention", "lifecycle", "stickiness", "active_visitors")
    assert warnings("2026-11-24", *names) == [[warning]] * 4
    # the last two also read days before
    late = ("retention", "stickiness", "lifecycle", "active_visitors")
    assert warnings("2026-11-25", *late) == [[], [], [warning], [warning]]
    returned = [{"field": "visitor.is_new", "op": "eq", "value": False}]
    assert warnings("2026-11-24", "summary_metrics") == [[]]
    assert warnings("2026-11-24", "summary_metrics", filters=returned) == [[warning]]
    is_new = [{"field": "visitor.is_new", "op": "eq", "value": True}]
    assert warnings("2026-11-24", "summary_metrics", filters=is_new) == [[warning]]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("returning_visitors", {}),
        ("visits", {"dimensions": ["visitor.first_seen:day"]}),
        ("errors", {"filters": is_new}),
    ]
    for metric, more in asked:
        day = {"startDate": "2026-11-24", "endDate": "2026-11-24"}
        assert ask(service, metric, **more, **day).json["meta"]["warnings"] == [warning]
    assert "warnings" not in ask(service, "visitors").json["meta"]


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
