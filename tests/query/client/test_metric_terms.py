"""Metrics in short text."""

from typing import Any

import pytest

from query.client import InvalidRequest, parse_metrics


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        ("visitors, bounce_rate", ["visitors", "bounce_rate"]),
        ("conversions(Sign up)", [{"metric": "conversions", "goal": "Sign up"}]),
        (
            "conversion_rate('a, (b)') as rate, visits",
            [{"metric": "conversion_rate", "goal": "a, (b)", "as": "rate"}, "visits"],
        ),
        ("revenue(EUR)", [{"metric": "revenue", "currency": "EUR"}]),
        ('revenue("EUR")', [{"metric": "revenue", "money": "EUR"}]),
        (
            "revenue(Orders, currency=USD)",
            [{"metric": "revenue", "money": "Orders", "currency": "USD"}],
        ),
        (
            "sum(properties.total, event = purchase) as total,p95(load_time)",
            [
                {
                    "metric": "sum",
                    "property": "properties.total",
                    "event": "purchase",
                    "as": "total",
                },
                {"metric": "p95", "property": "load_time"},
            ],
        ),
        (
            "visits, formula(page_views / visits) as ratio, formula('(visits + 1) / 2') as half",
            [
                "visits",
                {"metric": "formula", "formula": "page_views / visits", "as": "ratio"},
                {"metric": "formula", "formula": "(visits + 1) / 2", "as": "half"},
            ],
        ),
    ],
)
def test_a_text_is_read(text: str, metrics: list[Any]) -> None:
    assert parse_metrics(text) == metrics


def test_a_list_holds_texts_and_dicts() -> None:
    dict_ = {"metric": "revenue"}

    assert parse_metrics(["visits", "sum(a), median(b)", dict_]) == [
        "visits",
        {"metric": "sum", "property": "a"},
        {"metric": "median", "property": "b"},
        dict_,
    ]
    assert parse_metrics(dict_) == [dict_]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(", "metric 'sum(' cannot be read; write it as in"),
        ("visits,,visitors", "cannot be read"),
        ("a b", "metric 'a b' cannot be read"),
        ("sum(a, b)", "has two arguments 'property'"),
        ("sum(a, of = b)", "'of' is not one of property, event, goal, money, currency"),
    ],
)
def test_a_mistake_names_the_metric(text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        parse_metrics(text)

    assert message in str(wrong.value)
    assert wrong.value.field == "metrics"
