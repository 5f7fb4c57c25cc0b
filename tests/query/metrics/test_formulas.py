"""Formulas over metrics, beside the metrics that they are made of."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view, an_error
from tests.query.query_service import NOVEMBER, InProcessService, reused, start_service

OPERANDS = ("visitors", "visits", "page_views", "bounce_rate")


@reused
def service(tmp_path: Path) -> InProcessService:
    """10 November: 3 page views of 2 visitors, on `/` and `/a`; 12 November: 1 of one."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/", at="2026-11-10T10:00:00Z", visitor="ann", session="s1"),
        a_view("/a", at="2026-11-10T10:01:00Z", visitor="ann", session="s1"),
        a_view("/", at="2026-11-10T11:00:00Z", visitor="bob", session="s2"),
        a_view("/", at="2026-11-12T10:00:00Z", visitor="ann", session="s3"),
        an_error("boom", at="2026-11-10T10:00:30Z", visitor="ann", session="s1"),
    )
    return service


def formula(text: str, name: str = "f") -> dict[str, str]:
    return {"metric": "formula", "formula": text, "as": name}


def asked(service: InProcessService, metrics: Sequence[object], **more: Any) -> Any:
    body = {"metrics": metrics, **NOVEMBER, **more}
    return service.ask("POST", "/v1/query/metrics", body, website_id="shop").json


def test_a_formula_is_computed_in_each_bucket(service: InProcessService) -> None:
    days = {"startDate": "2026-11-10", "endDate": "2026-11-12", "dimensions": ["time:day"]}

    rows = asked(service, ["page_views", formula("page_views / visitors * 100 - 1")], **days)

    assert rows["data"] == [
        {"time:day": "2026-11-10", "page_views": 3, "f": 149.0},
        {"time:day": "2026-11-11", "page_views": 0, "f": None},  # nothing to divide by
        {"time:day": "2026-11-12", "page_views": 1, "f": 99.0},
    ]


def test_a_difference_of_nothing_is_nought(service: InProcessService) -> None:
    days = {"startDate": "2026-11-11", "endDate": "2026-11-11", "dimensions": ["time:day"]}

    assert asked(service, [formula("page_views - visitors")], **days)["data"] == [
        {"time:day": "2026-11-11", "f": 0.0}
    ]


@pytest.mark.parametrize(("left", "right"), [*product(OPERANDS, OPERANDS)])
def test_a_formula_agrees_with_the_metrics_beside_it(
    service: InProcessService, left: str, right: str
) -> None:
    texts = {"d": f"{left} - {right}", "s": f"-({left} + 2) * {right}", "r": f"{left} / {right}"}
    metrics = [*dict.fromkeys((left, right)), *(formula(text, n) for n, text in texts.items())]

    rows = asked(service, metrics, dimensions=["path"])["data"]

    assert len(rows) == 2
    for row in rows:
        one, other = row[left], row[right]
        assert row["d"] == pytest.approx(one - other)
        assert row["s"] == pytest.approx(-(one + 2) * other)
        assert row["r"] == (pytest.approx(one / other, abs=1e-6) if other else None)


def test_a_formula_names_metrics_before_it_by_their_names(service: InProcessService) -> None:
    metrics = [
        {"metric": "conversions", "goal": "Home", "as": "home"},
        formula("home / page_views", "share"),
        formula("share * 100", "percent"),
    ]

    rows = asked(service, metrics, goals=[{"label": "Home", "path": "/"}])["data"]

    assert rows == [{"home": 3, "share": 0.75, "percent": 75.0}]


def test_a_formula_of_two_tables_orders_and_filters(service: InProcessService) -> None:
    metrics = ["errors", formula("errors / page_views")]
    more = {"dimensions": ["path"], "orderBy": [{"field": "f", "direction": "desc"}]}
    having = [{"field": "f", "operator": "gt", "value": 0}]

    rows = asked(service, metrics, **more, having=having)["data"]

    assert [(row["errors"], row["f"]) for row in rows] == [(1, pytest.approx(1 / 3, abs=1e-6))]


def test_a_formula_is_compared_with_the_time_before(service: InProcessService) -> None:
    days = {"startDate": "2026-11-12", "endDate": "2026-11-13", "compare": "previous_period"}

    reply = asked(service, [formula("page_views * 10")], **days)

    assert reply["data"] == [{"f": 10.0}]
    assert reply["comparison"]["rows"][0]["previous"] == {"f": 30.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("visitors +", "cannot be read"),
        ("visitors ** 2", "cannot be read"),
        ("visitors // 2", "cannot be read"),
        ("visitors if 1 else 2", "cannot be read"),
        ("visitors * True", "cannot be read"),
        ("visitors / 1e400", "cannot be read"),
        ("visitors * 'a'", "cannot be read"),
        ("abs(visitors)", "Unknown metric 'abs'"),
        ("visitor / 2", "did you mean 'visitors'?"),
        ("later + 1", "Unknown metric 'later'"),
        ("1 / 2", "it needs a metric"),
        (" + ".join(["visitors"] * 11), "has at most 10 of both"),
        ("visitors" + " " * 200 + "+ 1", "more than 200 characters"),
    ],
)
def test_a_formula_that_cannot_be_read_says_why(
    service: InProcessService, text: str, problem: str
) -> None:
    reply = asked(service, [formula(text), {"metric": "conversions", "as": "later"}])

    assert reply["code"] == "VALIDATION_ERROR"
    assert "'metrics[0].formula'" in reply["error"]
    assert problem in reply["error"]


def test_a_formula_has_a_name(service: InProcessService) -> None:
    reply = asked(service, [{"metric": "formula", "formula": "visitors"}])

    assert "'metrics[0]' is a formula, which has 'formula' and a name" in reply["error"]
    other = asked(service, [{"metric": "sum", "property": "properties.a", "formula": "visitors"}])
    assert "'metrics[0].formula' does not apply" in other["error"]


def test_having_is_about_the_value_that_is_shown(service: InProcessService) -> None:
    third = formula("page_views / 3 / page_views")

    rows = asked(service, [third], having=[{"field": "f", "op": "eq", "value": 0.333333}])

    assert rows["data"] == [{"f": 0.333333}]


@pytest.mark.parametrize(
    "metrics",
    [
        # ten operands at each level, and one level more at each formula
        [formula("+".join([f"a{n - 1}" if n else "visits"] * 10), f"a{n}") for n in range(9)],
        [formula(f"l{n - 1} + 1" if n else "visits", f"l{n}") for n in range(20)],
        [formula("-" * 40 + "visits")],
        [formula("-(" * 60 + "visits" + ")" * 60)],
    ],
)
def test_formulas_that_grow_beyond_measure_are_refused(
    service: InProcessService, metrics: Sequence[object]
) -> None:
    reply = asked(service, metrics)

    assert reply["code"] == "VALIDATION_ERROR"
    assert "is too large with the formulas that it names" in reply["error"]


def test_the_largest_formulas_are_answered(service: InProcessService) -> None:
    levels = [formula(f"l{n - 1} + 1" if n else "visits", f"l{n}") for n in range(6)]
    wide = [formula(" + ".join(["bounce_rate"] * 10), f"w{n}") for n in range(10)]

    [row] = asked(service, [*levels, *wide])["data"]

    assert (row["l5"], row["w9"]) == (row["l0"] + 5, 10 * row["w0"] / 10)


def test_a_metric_with_members_stands_before_the_formula(service: InProcessService) -> None:
    reply = asked(service, [formula("orders / visitors")])

    assert reply["error"] == (
        "'metrics[0].formula' names 'orders', which has members of its own: give it as a metric "
        "before the formula"
    )


def test_the_name_of_a_formula_has_the_rule_of_names(service: InProcessService) -> None:
    assert asked(service, [formula("visits", "a b")])["error"] == (
        "'metrics[0].as' must start with a letter or '_' and have at most 63 letters, digits or '_'"
    )
