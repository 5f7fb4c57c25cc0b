"""visitors: who is behind a number, in lists worked out by hand and as many as the number says."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService, reused, start_service

STEPS = [{"path": "/"}, {"event": "signup"}, {"path": "/thanks"}]
FUNNEL = {"name": "funnel", "steps": STEPS}
GOALS = {"name": "goals", "goals": [{"event": "signup"}, {"path": "/thanks", "label": "done"}]}
RETENTION = {"name": "retention", "period": "day"}
SPAN = {"startDate": "2026-11-10", "endDate": "2026-11-12"}


def at(clock: str, day: int = 10) -> str:
    return f"2026-11-{day}T{clock}Z"


@reused
def town(tmp_path: Path) -> InProcessService:
    """a goes all the way, b signs up, c and d only look; c comes again on the 11th, d on the 12th.

    a and c came by search, b directly, d by nothing that is known.
    """
    service = start_service(tmp_path)
    for visitor, channel in (("a", "Search"), ("b", "Direct"), ("c", "Search"), ("d", None)):
        session = f"{visitor}1"
        service.holds(
            a_view("/", visitor=visitor, session=session, channel=channel, at=at("12:00:00"))
        )
    service.holds(
        an_event("signup", visitor="a", session="a1", at=at("12:01:00")),
        an_event("signup", visitor="b", session="b1", at=at("12:01:00")),
        a_view("/thanks", visitor="a", session="a1", at=at("12:02:00")),
        a_view("/", visitor="c", session="c2", channel="Direct", at=at("12:00:00", 11)),
        a_view("/", visitor="d", session="d2", at=at("12:00:00", 12)),
    )
    return service


def names(service: InProcessService, of: Any, **members: Any) -> list[str]:
    rows = service.rows({"name": "visitors", "of": of}, **{**SPAN, **members})
    return sorted(row["visitor_id"] for row in rows)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ({**FUNNEL, "step": 1}, "abcd"),
        ({**FUNNEL, "step": 2}, "ab"),
        ({**FUNNEL, "step": 2, "outcome": "dropped"}, "cd"),
        ({**FUNNEL, "step": 3, "outcome": "dropped"}, "b"),
        ({**FUNNEL, "step": 2, "outcome": "dropped", "by": "session"}, "cd"),
        ({**FUNNEL, "step": 1, "breakdown": "channel", "group": {"breakdown": "Search"}}, "ac"),
        ({**FUNNEL, "step": 1, "breakdown": "channel", "group": {"breakdown": None}}, "d"),
        (
            {
                **FUNNEL,
                "step": 1,
                "breakdown": "channel",
                "breakdown_limit": 1,
                "group": {"other": True},
            },
            "bd",
        ),
        ({**GOALS, "goal": "signup"}, "ab"),
        ({**GOALS, "goal": "done", "outcome": "not_converted"}, "bcd"),
        (
            {**GOALS, "goal": "signup", "breakdown": "channel", "group": {"breakdown": "Direct"}},
            "b",
        ),
        ({**RETENTION, "date": "2026-11-10"}, "abcd"),
        ({**RETENTION, "date": "2026-11-10", "after": 1}, "c"),
        ({**RETENTION, "date": "2026-11-10", "after": 1, "outcome": "not_returned"}, "abd"),
        (
            {
                **RETENTION,
                "date": "2026-11-10",
                "after": 2,
                "breakdown": "channel",
                "group": {"breakdown": None},
            },
            "d",
        ),
        ({"name": "paths", "path": "/ → /thanks"}, "a"),
        ({"name": "paths", "path": "/"}, "bcd"),
        ({"name": "paths", "path": "/", "breakdown": "channel", "group": {"breakdown": None}}, "d"),
    ],
)
def test_the_visitors_of_a_number(town: InProcessService, of: Any, expected: str) -> None:
    assert names(town, of) == list(expected)


def test_a_visitor_is_shown_as_in_the_list_of_profiles(town: InProcessService) -> None:
    rows = town.rows({"name": "visitors", "of": {**FUNNEL, "step": 3}}, **SPAN)

    assert rows == [row for row in town.rows("profile_list", **SPAN) if row["visitor_id"] == "a"]


@pytest.mark.parametrize("breakdown", [None, "channel"])
def test_there_are_as_many_as_the_number_says(
    town: InProcessService, breakdown: str | None
) -> None:
    own = {"breakdown": breakdown, "breakdown_limit": 2} if breakdown else {}

    def group(row: Any) -> Any:
        return {"group": {"breakdown": row["breakdown"], "other": row["other"]}} if own else {}

    for row in town.rows({**FUNNEL, **own}, **SPAN):
        cell = {**FUNNEL, **own, "step": row["step"], **group(row)}
        assert len(names(town, cell)) == row["visitors"]
        if row["step"] > 1:
            assert len(names(town, {**cell, "outcome": "dropped"})) == row["dropped"]
    for row in town.rows({**GOALS, **own}, **SPAN):
        assert (
            len(names(town, {**GOALS, **own, "goal": row["name"], **group(row)}))
            == (row["visitors"])
        )
    for row in town.rows({**RETENTION, **own}, **SPAN):
        cell = {**RETENTION, **own, "date": row["date"], "after": row["period"], **group(row)}
        assert len(names(town, cell)) == row["returned"]
        assert len(names(town, {**cell, "outcome": "not_returned"})) == (
            row["visitors"] - row["returned"]
        )
    for row in town.rows({"name": "paths", **own}, **SPAN):
        cell = {"name": "paths", **own, "path": row["name"], **group(row)}
        assert len(names(town, cell)) == row["visitors"]


@pytest.mark.parametrize(
    ("period", "first", "second"),
    [("week", "2026-11-02", "2026-11-09"), ("month", "2026-11-01", "2026-12-01")],
)
def test_cells_of_weeks_and_months(
    service: InProcessService, period: str, first: str, second: str
) -> None:
    service.holds(
        a_view("/", visitor="a", at=f"{first}T12:00:00Z"),
        a_view("/", visitor="a", at=f"{second}T00:30:00Z", received=f"{second}T00:30:00Z"),
        a_view("/", visitor="b", at=f"{first}T12:00:00Z"),
    )
    span = {"startDate": "2026-11-01", "endDate": "2026-12-31"}
    cell = {"name": "retention", "period": period, "date": first}

    assert names(service, cell, **span) == ["a", "b"]
    assert names(service, {**cell, "after": 1}, **span) == ["a"]


def test_filters_pages_and_order_apply(town: InProcessService) -> None:
    of = {**FUNNEL, "step": 1}
    only = [{"field": "channel", "op": "eq", "value": "Search"}]

    assert names(town, of, filters=only) == ["a", "c"]
    assert names(town, of, limit=3) == ["a", "c", "d"]
    assert names(town, of, limit=3, page=2) == ["b"]
    order = [{"field": "total_events", "direction": "desc"}]
    assert names(town, of, limit=1, orderBy=order) == ["a"]


@pytest.mark.parametrize(
    "of",
    [
        {**GOALS, "goal": "signup", "outcome": "not_converted"},
        {**RETENTION, "date": "2026-11-10", "after": 1, "outcome": "not_returned"},
    ],
)
def test_pages_are_those_of_the_whole_list(town: InProcessService, of: Any) -> None:
    parameter = {"name": "visitors", "of": of}
    for field in ("first_visit", "total_events", "session_count", "visitor_id"):
        order = [{"field": field, "direction": "desc"}, {"field": "visitor_id", "direction": "asc"}]
        whole = town.rows(parameter, **SPAN, orderBy=order)
        pages = [
            row
            for page in range(1, len(whole) + 2)
            for row in town.rows(parameter, **SPAN, orderBy=order, limit=1, page=page)
        ]
        assert pages == whole
        assert len(whole) > 1


def test_visitors_of_another_tenant_are_not_listed(town: InProcessService) -> None:
    town.holds(a_view("/", visitor="z", session="z", website="rival"))

    assert names(town, {**FUNNEL, "step": 1}) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ({**FUNNEL, "step": 4}, "'of.step' is 4; the funnel has 3 steps"),
        (
            {**FUNNEL, "step": 1, "outcome": "dropped"},
            "'of.outcome' is 'dropped' and 'of.step' is 1; visitors who completed step 1 and not "
            "step 2 are those that dropped at step 2",
        ),
        (
            {**GOALS, "goal": "sign up"},
            "Unknown goal 'sign up' in 'of.goal'; did you mean 'signup'?",
        ),
        (
            {**GOALS, "goal": "signup", "group": {"other": True}},
            "'group' needs 'breakdown', the field that the groups are of",
        ),
        (
            {
                **GOALS,
                "goal": "signup",
                "breakdown": "channel",
                "group": {"breakdown": "Direct", "other": True},
            },
            "'group' has a value in 'breakdown' and is 'other'; the group of all other values has "
            "no value of its own",
        ),
        (
            {"name": "retention", "date": "2026-11-10"},
            "'of.date' is 2026-11-10, which is not the first day of a week; take 'date' of a row "
            "of the result",
        ),
        (
            {**RETENTION, "date": "9999-12-31", "after": 100},
            "'of.date' must be between 1970-01-01 and 9000-01-01",
        ),
        (
            {**FUNNEL, "step": 1, "window_s": 3},
            "Unknown member 'window_s' in 'parameters[0].of'; did you mean 'window'?",
        ),
        (FUNNEL, "'parameters[0].of.step' is missing"),
        (
            {"name": "top_pages"},
            "'parameters[0].of.name' has a value that is not allowed: 'top_pages'",
        ),
    ],
)
def test_a_number_that_is_none_is_refused(
    town: InProcessService, of: dict[str, Any], message: str
) -> None:
    entry = town.query({"name": "visitors", "of": of}, **SPAN).json["data"][0]

    assert entry["error"] == message


def test_visitors_are_written_as_a_file(town: InProcessService) -> None:
    of = {**FUNNEL, "step": 2, "outcome": "dropped"}
    body = {"parameters": [{"name": "visitors", "of": of}], **SPAN}

    reply = town.ask("POST", "/v1/query", body, website_id="shop", format="csv")

    rows = csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig")))
    assert [row["visitor_id"] for row in rows] == ["d", "c"]


@pytest.mark.parametrize(
    "of",
    [
        {"name": "paths", "path": "\x00"},
        {"name": "paths", "path": "'; DROP TABLE scoped; --"},
        {**FUNNEL, "step": 1, "breakdown": "properties.'\"", "group": {"breakdown": "\x00"}},
    ],
)
def test_hostile_texts_select_nobody(town: InProcessService, of: Any) -> None:
    assert names(town, of) == []


def test_other_spellings_of_members_are_taken(town: InProcessService) -> None:
    assert names(town, {**RETENTION, "date": "2026-11-10", "After": 1}) == ["c"]
