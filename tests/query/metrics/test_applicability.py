"""What does not fit together in a metrics query is refused with the reason."""

from typing import Any

import pytest

from schemas.errors import Malformed
from tests.query.metrics.test_query import parsed

EVENTS_ONLY = "whose rows have no 'title'; leave out one of them, or ask in two queries"


@pytest.mark.parametrize(
    ("metrics", "more"),
    [
        (["errors"], {"dimensions": ["title"]}),
        (["visits", "p75_lcp"], {"dimensions": ["title"]}),
        (["errors"], {"filters": [{"not": {"field": "title", "operator": "is_null"}}]}),
    ],
)
def test_a_field_that_a_table_does_not_have(metrics: list[str], more: Any) -> None:
    with pytest.raises(Malformed, match=EVENTS_ONLY):
        parsed(*metrics, **more)


@pytest.mark.parametrize(
    "dimension", ["path", "visit.channel", "visitor.is_new", "time:hour_of_day"]
)
def test_a_field_that_all_tables_have(dimension: str) -> None:
    assert parsed("errors", "p75_lcp", "visits", dimensions=[dimension])


@pytest.mark.parametrize("more", [{}, {"compare": "previous_period"}])
def test_too_many_buckets(more: Any) -> None:
    with pytest.raises(Malformed, match="a row for each of the 43,200 buckets of 'time:minute'"):
        parsed("visits", dimensions=["time:minute"], **more)


def test_buckets_of_rows_with_data_are_not_counted() -> None:
    having = [{"field": "visits", "operator": "gt", "value": 0}]

    assert parsed("visits", dimensions=["time:minute", "path"])
    assert parsed("visits", dimensions=["path", "time:minute"], compare="previous_period")
    assert parsed("visits", dimensions=["time:minute"], having=having)
