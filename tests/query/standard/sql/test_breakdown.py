"""Breakdowns of funnel, goals, paths and retention: numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService

STEPS = [{"path": "/"}, {"event": "signup"}]


def at(clock: str, day: int = 10) -> str:
    return f"2026-11-{day}T{clock}Z"


def visit(
    service: InProcessService, visitor: str, channel: str | None, *, signs_up: bool, day: int = 10
) -> None:
    """A visit of one page view, and of a signup without a source of its own."""
    session = f"{visitor}-{day}"
    who: dict[str, Any] = {"visitor": visitor, "session": session}
    service.holds(a_view("/", at=at("12:00:00", day), channel=channel, **who))
    if signs_up:
        plan = '{"plan":"pro"}' if visitor < "c" else '{"plan":"team"}'
        service.holds(an_event("signup", at=at("12:00:30", day), properties=plan, **who))


@pytest.fixture
def town(service: InProcessService) -> InProcessService:
    """Search: a, b, c of whom a and c sign up; Direct: d, e of whom e does; unknown: f."""
    for visitor, channel, signs_up in (
        ("a", "Organic Search", True),
        ("b", "Organic Search", False),
        ("c", "Organic Search", True),
        ("d", "Direct", False),
        ("e", "Direct", True),
        ("f", None, False),
    ):
        visit(service, visitor, channel, signs_up=signs_up)
    return service


def counts(rows: list[dict[str, Any]], *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in (*fields, "breakdown", "other")) for row in rows]


def test_a_funnel_has_its_steps_for_each_value(town: InProcessService) -> None:
    rows = town.rows({"name": "funnel", "steps": STEPS, "breakdown": "channel"})

    assert counts(rows, "name", "visitors", "conversion_rate", "median_seconds") == [
        ("/", 3, 100.0, None, "Organic Search", False),
        ("signup", 2, 66.67, 30.0, "Organic Search", False),
        ("/", 2, 100.0, None, "Direct", False),
        ("signup", 1, 50.0, 30.0, "Direct", False),
        ("/", 1, 100.0, None, None, False),
        ("signup", 0, 0.0, None, None, False),
    ]


def test_values_beyond_the_limit_are_one_group(town: InProcessService) -> None:
    rows = town.rows(
        {"name": "funnel", "steps": STEPS, "breakdown": "channel", "breakdown_limit": 1}
    )

    assert counts(rows, "visitors") == [
        (3, "Organic Search", False),
        (2, "Organic Search", False),
        (3, None, True),
        (1, None, True),
    ]


def test_a_visitor_counts_by_the_first_row_of_the_first_step(service: InProcessService) -> None:
    visit(service, "a", "Direct", signs_up=False, day=10)
    visit(service, "a", "Email", signs_up=True, day=11)
    visit(service, "b", "Email", signs_up=False, day=10)

    rows = service.rows({"name": "funnel", "steps": STEPS, "breakdown": "visit.channel"})
    assert counts(rows, "visitors") == [
        (1, "Direct", False),
        (1, "Direct", False),
        (1, "Email", False),
        (0, "Email", False),
    ]

    by_session = service.rows(
        {"name": "funnel", "steps": STEPS, "breakdown": "visit.channel", "by": "session"}
    )
    assert counts(by_session, "visitors") == [
        (2, "Email", False),
        (1, "Email", False),
        (1, "Direct", False),
        (0, "Direct", False),
    ]


def test_goals_count_by_the_conversion(town: InProcessService) -> None:
    goals = [{"event": "signup"}]

    rows = town.rows({"name": "goals", "goals": goals, "breakdown": "channel"})
    assert counts(rows, "conversions", "visitors", "conversion_rate") == [
        (2, 2, 66.67, "Organic Search", False),
        (1, 1, 50.0, "Direct", False),
        (0, 0, 0.0, None, False),
    ]

    rows = town.rows({"name": "goals", "goals": goals, "breakdown": "properties.plan"})
    assert counts(rows, "conversions") == [
        (0, None, False),
        (2, "team", False),
        (1, "pro", False),
    ]


@pytest.mark.parametrize("value", ["Organic Search", "Direct", None])
def test_a_group_of_goals_is_the_question_with_a_filter(
    town: InProcessService, value: str | None
) -> None:
    question = {"name": "goals", "goals": [{"event": "signup"}]}
    only = {"field": "channel", "op": "eq", "value": value}
    if value is None:
        only = {"field": "channel", "op": "is_null"}

    rows = town.rows({**question, "breakdown": "channel"})
    own = [row for row in rows if row["breakdown"] == value]

    filtered = town.rows(question, filters=[only])
    assert own == [{**row, "breakdown": value, "other": False} for row in filtered]


@pytest.mark.parametrize(
    "question",
    [
        {"name": "funnel", "steps": STEPS},
        {"name": "goals", "goals": [{"event": "signup"}]},
        {"name": "paths"},
        {"name": "retention", "period": "day"},
    ],
)
def test_rows_have_the_members_of_groups_with_a_breakdown_only(
    town: InProcessService, question: dict[str, Any]
) -> None:
    def members(**more: Any) -> set[str]:
        rows = town.rows({**question, **more}, orderBy=[{"field": "breakdown"}])
        return set().union(*rows)

    assert members(breakdown="channel") - members() == {"breakdown", "other"}
    assert not members() & {"breakdown", "other"}
    body = {"parameters": [question], **NOVEMBER}
    reply = town.ask("POST", "/v1/query", body, website_id="shop", format="csv")
    header = reply.body.decode().splitlines()[0].split(",")
    assert set(header) == members()


def test_a_visitor_is_retained_in_the_group_of_the_first_row(service: InProcessService) -> None:
    visit(service, "a", "Direct", signs_up=False, day=10)
    visit(service, "a", "Email", signs_up=False, day=11)
    visit(service, "b", "Email", signs_up=False, day=11)

    rows = service.rows(
        {"name": "retention", "period": "day", "breakdown": "channel"},
        startDate="2026-11-10",
        endDate="2026-11-11",
    )

    assert counts(rows, "date", "period", "visitors", "returned") == [
        ("2026-11-10", 0, 1, 1, "Direct", False),
        ("2026-11-10", 1, 1, 1, "Direct", False),
        ("2026-11-11", 0, 0, 0, "Direct", False),
        ("2026-11-10", 0, 0, 0, "Email", False),
        ("2026-11-10", 1, 0, 0, "Email", False),
        ("2026-11-11", 0, 1, 1, "Email", False),
    ]


def test_paths_are_shares_of_their_group(service: InProcessService) -> None:
    for number, (device, *pages) in enumerate(
        (("mobile", "/", "/a"), ("mobile", "/", "/a"), ("mobile", "/"), ("desktop", "/", "/a"))
    ):
        for second, page in enumerate(pages):
            service.holds(
                a_view(
                    page,
                    session=f"s{number}",
                    visitor=f"u{number}",
                    device_type=device,
                    at=at(f"12:00:{second:02}"),
                )
            )

    rows = service.rows({"name": "paths", "breakdown": "device_type"})

    assert counts(rows, "name", "sessions", "visitors", "percentage") == [
        ("/ → /a", 2, 2, 66.67, "mobile", False),
        ("/", 1, 1, 33.33, "mobile", False),
        ("/ → /a", 1, 1, 100.0, "desktop", False),
    ]


def test_a_comparison_has_the_groups_of_the_requested_range(service: InProcessService) -> None:
    for visitor in "abc":
        visit(service, visitor, "Email", signs_up=True, day=10)
    visit(service, "d", "Direct", signs_up=True, day=10)
    for visitor in "efg":
        visit(service, visitor, "Direct", signs_up=False, day=11)
    visit(service, "h", "Email", signs_up=True, day=11)

    entry = service.query(
        {"name": "funnel", "steps": STEPS, "breakdown": "channel", "breakdown_limit": 1},
        startDate="2026-11-11",
        endDate="2026-11-11",
        compare="previous_period",
    ).json["data"][0]

    assert counts(entry["data"], "visitors") == [
        (3, "Direct", False),
        (0, "Direct", False),
        (1, None, True),
        (1, None, True),
    ]
    previous = [row["previous"] for row in entry["comparison"]["rows"]]
    assert counts(previous, "visitors") == [
        (1, "Direct", False),
        (1, "Direct", False),
        (3, None, True),
        (3, None, True),
    ]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            {"breakdown": "chanel"},
            "Unknown column 'chanel' in 'breakdown'; did you mean 'channel'?",
        ),
        (
            {"breakdown": "ts"},
            "'breakdown' is 'ts', which has a value of its own for almost every row; use a field "
            "with few values, or filters for parts of its range",
        ),
        (
            {"breakdown": "session_id"},
            "'breakdown' is 'session_id', which has a value of its own for almost every row; use a "
            "field with few values, or filters for parts of its range",
        ),
        ({"breakdown_limit": 3}, "'breakdown_limit' needs 'breakdown', the field to split by"),
        (
            {"breakdown": "channel", "breakdown_limit": 51},
            "'parameters[0].breakdown_limit' must be at most 50",
        ),
    ],
)
def test_a_wrong_breakdown_is_refused(
    service: InProcessService, own: dict[str, Any], message: str
) -> None:
    entry = service.query({"name": "goals", "goals": [{"event": "a"}], **own}).json["data"][0]

    assert entry["error"] == message


def test_a_type_without_a_breakdown_says_what_to_use(service: InProcessService) -> None:
    reply = service.query({"name": "top_pages", "breakdown": "channel"})

    assert reply.status == 400
    assert reply.json["error"] == (
        "Unknown member 'breakdown' in 'parameters[0]'; only funnel, goals, paths and retention "
        "have a breakdown; use POST /v1/query/metrics for metrics by dimensions"
    )


def test_a_group_has_no_rows_of_another_tenant(town: InProcessService) -> None:
    town.holds(a_view("/", visitor="z", session="z", website="rival", channel="Referral"))

    rows = town.rows({"name": "funnel", "steps": STEPS, "breakdown": "channel"})

    assert {row["breakdown"] for row in rows} == {"Organic Search", "Direct", None}


@pytest.mark.parametrize("field", ["is_bot", "load_time", "event.channel", "visit.entry_page"])
def test_any_field_with_few_values_is_a_breakdown(town: InProcessService, field: str) -> None:
    rows = town.rows({"name": "funnel", "steps": STEPS, "breakdown": field})

    assert sum(row["visitors"] for row in rows if row["step"] == 1) == 6
