"""Metrics with arguments: sums of properties, conversions of goals."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import an_event
from tests.query.metrics_queries import error, rows, three_visits
from tests.query.query_service import InProcessService, reused, start_service
from tests.query.times import at

REVENUE = {"metric": "sum", "property": "properties.total", "as": "revenue"}
GOALS = [{"event": "purchase"}, {"path": "/pricing", "label": "saw prices"}]


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(
        *three_visits(),
        *(
            an_event(
                name,
                at=at(f"12:0{i}:00"),
                visitor="u3",
                session="s3",
                path="/pricing",
                properties=f'{{"total": {total}}}',
            )
            for i, (name, total) in enumerate(
                (("purchase", "10"), ("purchase", '"20"'), ("refund", "7"), ("purchase", "1e308"))
            )
        ),
    )
    return service


def test_revenue_and_conversions_by_channel(service: InProcessService) -> None:
    found = rows(
        service,
        {**REVENUE, "event": "purchase"},
        "conversions",
        "conversion_rate",
        dimensions=["visit.channel"],
        goals=GOALS[:1],
    )

    # text is no number, 1e308 is out of range, and a refund is no purchase
    assert found == [
        {
            "visit.channel": "Organic Search",
            "revenue": 49.9,
            "conversions": 1,
            "conversion_rate": 100.0,
        },
        {"visit.channel": "Direct", "revenue": 10.0, "conversions": 3, "conversion_rate": 50.0},
    ]


def test_goals_are_counted_together_or_by_label(service: InProcessService) -> None:
    found = rows(
        service,
        "conversion_rate",
        {"metric": "conversions", "goal": "purchase", "as": "purchases"},
        {"metric": "conversion_rate", "goal": "saw prices", "as": "price_rate"},
        goals=GOALS,
    )

    assert found == [{"conversion_rate": 66.67, "purchases": 4, "price_rate": 66.67}]


def test_conversions_of_several_goals_have_names_of_their_own(service: InProcessService) -> None:
    found = rows(
        service,
        {"metric": "conversions", "goal": "purchase"},
        {"metric": "conversions", "goal": "saw prices"},
        {"metric": "conversion_rate", "goal": "purchase"},
        goals=GOALS,
    )

    assert list(found[0]) == ["conversions_purchase", "conversions_saw_prices", "conversion_rate"]


def test_the_value_of_conversions(service: InProcessService) -> None:
    goals = [{"event": "purchase", "value": "properties.total"}, {"path": "/pricing"}]

    found = rows(service, {"metric": "conversion_value", "goal": "purchase"}, goals=goals)

    assert found == [{"conversion_value": 79.9}]  # 10, "20", 49.9


def test_aggregates_of_properties_and_columns(service: InProcessService) -> None:
    names = ("avg", "min", "max", "median", "p90")
    terms = [{"metric": name, "property": "properties.total"} for name in names]

    found = rows(service, *terms, {"metric": "max", "property": "time_on_page"})

    assert found == [
        {
            "avg_properties_total": 22.3,  # 7, 10, 49.9
            "min_properties_total": 7.0,
            "max_properties_total": 49.9,
            "median_properties_total": 10.0,
            "p90_properties_total": 41.92,
            "max_time_on_page": 3.5,
        }
    ]


def test_order_and_having_take_the_name(service: InProcessService) -> None:
    found = rows(
        service,
        REVENUE,
        dimensions=["name"],
        having=[{"field": "revenue", "operator": "gt", "value": 5}],
        orderBy=[{"field": "revenue", "direction": "asc"}],
    )

    assert found == [
        {"name": "refund", "revenue": 7.0},
        {"name": "purchase", "revenue": 59.9},
    ]


@pytest.mark.parametrize(
    ("term", "more", "message"),
    [
        (
            "sum",
            {},
            "'metrics[0].property' is missing: 'sum' is of a number, such as {'metric': 'sum', "
            "'property': 'properties.total'}",
        ),
        (
            "conversions",
            {},
            "'metrics[0]': 'conversions' needs 'goals', such as [{'event': 'purchase'}] in the "
            "body, or the name of a saved goal in 'goal'",
        ),
        (
            {"metric": "conversions", "goal": "purchas"},
            {"goals": GOALS},
            "Unknown goal 'purchas' in 'metrics[0].goal'; did you mean 'purchase'?",
        ),
        (
            {"metric": "conversions", "goal": "purchase"},
            {},
            "Unknown goal 'purchase' in 'metrics[0].goal', as none is saved; describe it in "
            "'goals', such as [{'event': 'purchase'}], or save it",
        ),
        (
            {"metric": "visits", "property": "properties.a"},
            {},
            "'metrics[0].property' does not apply to the metric 'visits'",
        ),
        (
            {**REVENUE, "as": "1; DROP"},
            {},
            "'metrics[0].as' must start with a letter or '_' and have at most 63 letters, digits "
            "or '_'",
        ),
        (
            {"metric": "sum", "property": "price"},
            {},
            "Unknown number 'price' in 'metrics[0].property'; known are event.time_on_page, "
            "time_on_page, event.scroll_depth, scroll_depth, interaction_count, page_count, "
            "load_time, dom_ready_time, dom_interactive, ttfb, request_time, render_time; "
            "a property is 'properties.price'",
        ),
        (
            {"metric": "sum", "property": "time_on_pag"},
            {},
            "Unknown number 'time_on_pag' in 'metrics[0].property'; did you mean 'time_on_page'?",
        ),
        ("visits", {"goals": GOALS}, "'goals' needs the metric 'conversions' or 'conversion_rate'"),
        (
            {"metric": "sum", "field": "properties.a"},
            {},
            "Unknown member 'field' in 'metrics[0]'; known are metric, property, event, goal, "
            "money, currency, formula, as",
        ),
    ],
)
def test_a_wrong_term_is_rejected(
    service: InProcessService, term: Any, more: Any, message: str
) -> None:
    assert error(service, term, **more) == message
