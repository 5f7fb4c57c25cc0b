"""MetricsQuery: its order, its page, the tables that it reads."""

from typing import Any

import msgspec
import pytest

from query.metrics.plan import plan_of
from query.metrics.query import MetricsQuery
from query.metrics.request import MetricsRequest, parse_request
from query.request.subject import QuerySubject, SubjectKind
from tests.query.query_service import NOVEMBER, NOW

SHOP = QuerySubject(SubjectKind.WEBSITE, ("shop",), "acme")


def parsed(*metrics: str, **more: Any) -> MetricsQuery:
    body = msgspec.convert({"metrics": metrics, **NOVEMBER, **more}, MetricsRequest)
    return parse_request(body, SHOP, None, NOW)


def terms(query: MetricsQuery) -> list[str]:
    return [f"{term.field} {term.direction}" for term in query.order]


def test_the_order_is_total() -> None:
    by_day = parsed("visits", dimensions=["time:day", "path"])
    by_path = parsed("visits", "events", dimensions=["path"])
    by_events = parsed("visits", dimensions=["path"], orderBy=[{"field": "path"}])

    assert terms(by_day) == ["time:day asc", "time:day asc", "path asc"]
    assert terms(by_path) == ["visits desc", "path asc"]
    assert terms(by_events) == ["path desc", "path asc"]


@pytest.mark.parametrize(
    ("more", "is_series"),
    [
        ({"dimensions": ["time:day"]}, True),
        ({"dimensions": ["time:hour_of_day"]}, False),
        ({"dimensions": ["time:day", "path"]}, False),
        (
            {
                "dimensions": ["time:day"],
                "having": [{"field": "visits", "operator": "gt", "value": 0}],
            },
            False,
        ),
        ({}, False),
    ],
)
def test_a_series_has_one_bucket_of_time_and_no_having(more: Any, is_series: bool) -> None:
    query = parsed("visits", **more)

    assert query.is_series is is_series
    assert plan_of(query).limit_offset == (10_000 if is_series else 1_000, 0)


def test_columns_are_named_by_position() -> None:
    query = parsed("visits", "scroll_depth", dimensions=["path", "scroll_depth"])

    assert query.columns == {
        "path": "d0",
        "event.scroll_depth": "d1",
        "visits": "m0",
        "scroll_depth": "m1",
    }


@pytest.mark.parametrize(
    ("metrics", "more", "tables", "reads_events"),
    [
        (["visits"], {}, ["events"], True),
        (["errors"], {}, ["errors"], False),
        (["errors"], {"dimensions": ["visit.channel"]}, ["errors"], True),
        (
            ["errors"],
            {"filters": [{"field": "visitor.is_new", "operator": "eq", "value": True}]},
            ["errors"],
            True,
        ),
        (["p75_lcp", "error_rate"], {}, ["vitals", "events", "errors"], True),
    ],
)
def test_tables_that_a_query_reads(
    metrics: list[str], more: Any, tables: list[str], reads_events: bool
) -> None:
    query = parsed(*metrics, **more)

    assert [table.name for table in query.tables] == tables
    assert query.reads_events is reads_events
