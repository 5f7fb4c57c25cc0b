"""Bodies of metrics queries: what is rejected, and what the error says to do."""

from typing import Any

import pytest

from tests.query.metrics_queries import error
from tests.query.query_service import InProcessService, start_service

ONE = [{"field": "visits", "direction": "asc"}]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    return start_service(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize(
    ("metrics", "more", "message"),
    [
        (
            [{"metric": "conversion", "goal": "Sign-up"}],
            {},
            "Unknown metric 'conversion' in 'metrics[0]'; did you mean 'conversions'?",
        ),
        (
            [{"metric": "conversion", "property": "Sign-up"}],
            {},
            "Unknown metric 'conversion' in 'metrics[0]'; did you mean 'conversions'?",
        ),
        (["visit"], {}, "Unknown metric 'visit' in 'metrics[0]'; did you mean 'visits'?"),
        ([], {}, "'metrics' must not be empty"),
        (
            ["visits"] * 2,
            {},
            "'metrics[1]' is 'visits' again; give each metric once, or a name by 'as'",
        ),
        (["visits"], {"group_by": []}, "Unknown member 'group_by' in the body; use 'dimensions'"),
        (
            ["visits"],
            {"granularity": "day"},
            "Unknown member 'granularity' in the body; use a dimension such as 'time:day'",
        ),
        (
            ["visits"],
            {"filter": []},
            "Unknown member 'filter' in the body; did you mean 'filters'?",
        ),
        (
            ["visitors"],
            {"orderBy": ONE},
            "Unknown field 'visits' in 'orderBy[0]'; did you mean 'visitors'?",
        ),
        (
            ["visits"],
            {"dimensions": ["time:minute"]},
            "The query needs a row for each of the 43,200 buckets of 'time:minute'; at most 10,000 "
            "are allowed; use a shorter time range or a coarser part of time; 'having' leaves only "
            "buckets with data, as in [{'field': 'events', 'operator': 'gt', 'value': 0}]",
        ),
        (
            ["visits"],
            {"dimensions": ["a", "b", "c", "d", "e", "f"]},
            "'dimensions' must have at most 5 elements",
        ),
    ],
)
def test_a_wrong_body_is_rejected(
    service: InProcessService, metrics: Any, more: Any, message: str
) -> None:
    assert error(service, *metrics, **more) == message


def test_having_names_a_metric_of_the_query(service: InProcessService) -> None:
    having = [{"field": "visitors", "operator": "gt", "value": 1}]

    found = error(service, "visits", having=having)

    assert found.startswith("Unknown column 'visitors' in the metrics of the query")
