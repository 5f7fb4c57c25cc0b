"""Saved goals in metrics queries: as filters, and as what conversions are of."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view
from tests.query.metrics_queries import error, rows, save, three_visits, where
from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    """The goals Buy (s1), Prices (s1, s3), Home by Direct (s2) and Any page (all)."""
    service = start_service(tmp_path)
    service.holds(*three_visits())
    save(service, "goals", name="Buy", event="purchase")
    save(service, "goals", name="Prices", path="/pri*")
    save(
        service,
        "goals",
        name="Home by Direct",
        path="/",
        filters=[where("visit.channel", "Direct")],
    )
    save(service, "goals", website="blog", name="Blog goal", event="purchase")
    return service


def test_a_filter_keeps_rows_that_complete_the_goal_and_their_visits(
    service: InProcessService,
) -> None:
    metrics = ("events", "visitors", "visits", "views_per_visit")

    assert rows(service, *metrics, filters=[where("goal", "Prices")]) == [
        {"events": 2, "visitors": 2, "visits": 2, "views_per_visit": 1.5}
    ]
    assert rows(service, *metrics, filters=[where("goal", "Home by Direct")]) == [
        {"events": 1, "visitors": 1, "visits": 1, "views_per_visit": 1.0}
    ]


@pytest.mark.parametrize(
    ("filters", "events"),
    [
        ([where("goal", "Buy")], 1),
        ([where("goal", "Buy", "ne")], 4),
        ([where("goal", ["Buy", "Prices"], "in")], 3),
        ([where("goal", ["Buy", "Prices"], "not_in")], 2),
        ([{"or": [where("goal", "Buy"), where("path", "/")]}], 3),
        ([{"not": {"and": [where("goal", "Prices"), where("goal", "Buy", "ne")]}}], 3),
        ([where("goal", "Prices"), where("visit.channel", "Direct")], 1),
        ([where("goal", "Prices"), where("time:hour_of_day", 12)], 1),
    ],
)
def test_goals_are_combined_with_other_filters(
    service: InProcessService, filters: Any, events: int
) -> None:
    assert rows(service, "events", filters=filters) == [{"events": events}]


def test_a_goal_is_named_by_its_id_too(service: InProcessService) -> None:
    goal = save(service, "goals", name="All", path="*")

    assert rows(service, "events", filters=[where("goal", goal)]) == [{"events": 4}]


def test_conversions_of_saved_goals(service: InProcessService) -> None:
    found = rows(
        service,
        {"metric": "conversions", "goal": "Prices"},
        {"metric": "conversion_rate", "goal": "Buy"},
        {"metric": "conversions", "goal": "Home by Direct", "as": "home"},
        dimensions=["visit.channel"],
    )

    assert found == [
        {"visit.channel": "Direct", "conversions": 1, "conversion_rate": 0.0, "home": 1},
        {"visit.channel": "Organic Search", "conversions": 1, "conversion_rate": 100.0, "home": 0},
    ]


def test_goals_of_the_body_may_be_saved_ones(service: InProcessService) -> None:
    goals = [{"goal": "Buy"}, {"path": "/", "label": "home"}]

    found = rows(
        service,
        "conversions",
        {"metric": "conversions", "goal": "Buy", "as": "bought"},
        {"metric": "conversions", "goal": "Prices", "as": "prices"},
        goals=goals,
    )

    assert found == [{"conversions": 3, "bought": 1, "prices": 2}]


def test_the_rate_of_conversions_is_that_of_the_query_type(service: InProcessService) -> None:
    body = {"parameters": ["goals"], "startDate": "2026-11-01", "endDate": "2026-11-30"}

    [entry] = service.ask("POST", "/v1/query", body, website_id="shop").json["data"]

    for row in entry["data"]:
        assert rows(service, {"metric": "conversion_rate", "goal": row["name"]}) == [
            {"conversion_rate": row["conversion_rate"]}
        ]


def test_a_filter_on_a_goal_is_compared_too(service: InProcessService) -> None:
    service.holds(a_view("/pricing", at="2026-10-10T10:00:00Z", session="s7"))

    reply = service.ask(
        "POST",
        "/v1/query/metrics",
        {
            "metrics": ["events"],
            "filters": [where("goal", "Prices")],
            "startDate": "2026-11-01",
            "endDate": "2026-11-30",
            "compare": "previous_period",
        },
        website_id="shop",
    )

    assert reply.json["comparison"]["rows"][0]["previous"] == {"events": 1}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            where("goal", "Price"),
            "Unknown goal 'Price' in 'filters[0].value'; did you mean 'Prices'?",
        ),
        (
            where("goal", "Blog goal"),
            "Unknown goal 'Blog goal' in 'filters[0].value'; known are Buy, Prices, Home by Direct",
        ),
        (
            where("goal", "Buy", "contains"),
            "'filters[0]': 'goal' takes the operators eq, in, ne, not_in",
        ),
        (
            {"field": "goal", "operator": "eq"},
            "'filters[0].value' is missing; give the name of a saved goal",
        ),
        (
            where("goal:1", True),
            "'filters[0].field' is 'goal:1'; use 'goal' and its name",
        ),
    ],
)
def test_a_wrong_goal_is_rejected(service: InProcessService, condition: Any, message: str) -> None:
    assert error(service, "visits", filters=[condition]) == message


def test_errors_complete_no_goals(service: InProcessService) -> None:
    assert error(service, "errors", filters=[where("goal", "Buy")]) == (
        "The metric 'errors' is of table 'errors', whose rows have no 'goal'; leave out one of "
        "them, or ask in two queries"
    )
