"""Aggregates of custom queries: numbers worked out by hand."""

import pytest

from query.sql.aggregates import AGGREGATES
from tests.query.custom_queries import rows
from tests.query.lake import (
    a_vital,
)
from tests.query.query_service import InProcessService

MEASURED = [a_vital("LCP", value) for value in (100, 200, 300, 1000.5)]


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("count", 4),
        ("uniq", 4),
        ("sum", 1600.5),
        ("avg", 400.125),
        ("min", 100),
        ("max", 1000.5),
        ("median", 250),
        ("p75", 475.125),  # 300 + 0.25 x 700.5
        ("p90", 790.35),  # 300 + 0.7 x 700.5
        ("p95", 895.425),  # 300 + 0.85 x 700.5
        ("p99", 979.485),  # 300 + 0.97 x 700.5
    ],
)
def test_every_aggregate_gives_the_number_worked_out(
    service: InProcessService, aggregate: str, value: float
) -> None:
    service.holds(*MEASURED)
    select = {"field": "metric_value", "aggregate": aggregate, "alias": "x"}

    assert rows(service, "vitals", select) == [{"x": value}]


def test_no_aggregate_is_left_without_a_number_worked_out() -> None:
    marks = test_every_aggregate_gives_the_number_worked_out.pytestmark  # type: ignore[attr-defined]

    assert {case[0] for case in marks[0].args[1]} == {a.name for a in AGGREGATES}
