"""Service and oracle agree about folders and path groups, which nothing is prepared of."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.metrics import MetricsQuery, expected_result
from tests.oracle.random_traffic import STAGES
from tests.oracle.service import Service
from tests.oracle.test_prepared_results import prepare

METRICS = ("visitors", "page_views", "visits", "bounce_rate", "entries", "exits", "events")
OF_GROUP: Mapping[str, Any] = {"field": "path_group", "operator": "eq", "value": "Letters"}
WITHOUT: Mapping[str, Any] = {"field": "path_group", "operator": "is_null"}
IN_A: Mapping[str, Any] = {"field": "folder", "operator": "eq", "value": "/a"}
DONE: Mapping[str, Any] = {"has_done": {"filters": [OF_GROUP]}}


@pytest.mark.parametrize(
    ("metrics", "more"),
    [
        (METRICS, {"dimensions": ("path_group",)}),
        (METRICS, {"dimensions": ("folder",)}),
        (METRICS, {"dimensions": ("path_group", "folder", "visit.channel")}),
        (METRICS, {"dimensions": ("path_group",), "subject": "shop,blog"}),
        (METRICS, {"dimensions": ("path",), "filters": (OF_GROUP,)}),
        (METRICS, {"dimensions": ("folder",), "filters": ({"not": OF_GROUP},)}),
        (METRICS, {"filters": (WITHOUT, DONE)}),
        (METRICS, {"dimensions": ("time:day",), "filters": (IN_A,), "compare": None}),
        (("errors",), {"dimensions": ("path_group", "folder")}),
        (("p75_lcp", "samples_lcp"), {"dimensions": ("path_group",), "filters": (IN_A,)}),
    ],
)
def test_the_service_agrees_with_the_oracle(
    service: Service, metrics: tuple[str, ...], more: Mapping[str, Any]
) -> None:
    day = STAGES[0].day
    query = MetricsQuery(metrics=metrics, start=day - timedelta(days=1), end=day, **more)

    reply = service.post("/v1/query/metrics", query.body, query.subject)

    assert reply.status == 200, reply.json
    assert "prepared" not in reply.json["meta"]
    assert reply.json["data"] == expected_result(service.facts, query)
    assert reply.json["data"]


@pytest.fixture(scope="module")
def service() -> Any:
    """Fixed traffic, with rollups of all of it."""
    with Service(fixed_traffic(STAGES[0])) as service:
        prepare(service)
        yield service
