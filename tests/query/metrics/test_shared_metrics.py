"""Metrics queries of a shared dashboard: with its fixed filters, of plain fields only."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService
from tests.query.shared_dashboards import SharedDashboard, opened

ON_DOCS: Mapping[str, Any] = {"field": "path", "operator": "starts_with", "value": "/docs"}
PATH = "/v1/query/metrics"


@pytest.fixture
def docs(service: InProcessService) -> SharedDashboard:
    service.holds(
        *(a_view(path, visitor="u1", country="DE") for path in ("/docs/a", "/docs/b", "/private")),
        a_view("/private", visitor="u2", country="FR", session="s2"),
        an_event("signup", visitor="u2", path="/docs/a", properties='{"total": 5}', session="s3"),
    )
    return opened(service, filters=[ON_DOCS])


@pytest.mark.parametrize("dimensions", [["path"], ["time:day"], ["visit.entry_page"], []])
@pytest.mark.parametrize("person", ["device", "profile"])
def test_metrics_equal_those_of_a_key_with_the_filters(
    service: InProcessService, docs: SharedDashboard, dimensions: list[str], person: str
) -> None:
    body: dict[str, Any] = {
        "metrics": ["visitors", "visits", "page_views", "events", "bounce_rate", "new_visitors"],
        "dimensions": dimensions,
        "person": person,
        "compare": "previous_year",
        **NOVEMBER,
    }

    by_key = service.ask("POST", PATH, {**body, "filters": [ON_DOCS]}, website_id="shop").json
    all_rows = service.ask("POST", PATH, body, website_id="shop").json
    shared = docs.metrics(**body).json

    assert (shared["data"], shared["comparison"]) == (by_key["data"], by_key["comparison"])
    assert shared["data"] != all_rows["data"]
    for filters in ([{"or": [{"not": ON_DOCS}, ON_DOCS]}],):
        assert docs.metrics(**body, filters=filters).json["data"] == shared["data"]


def test_conversions_of_named_steps_have_the_filters(docs: SharedDashboard) -> None:
    asked = {"metrics": ["conversions"]}

    assert docs.metrics(**asked, goals=[{"path": "/private"}]).json["data"] == [{"conversions": 0}]
    assert docs.metrics(**asked, goals=[{"event": "signup"}]).json["data"] == [{"conversions": 1}]


@pytest.mark.parametrize(
    "more",
    [
        {"metrics": [{"metric": "sum", "property": "properties.total", "as": "a"}]},
        {"metrics": [{"metric": "median", "property": "properties.total"}]},
        {"metrics": ["visits"], "dimensions": ["properties.total"]},
        {"metrics": ["visits"], "dimensions": ["time:day", "session_id"]},
        {"metrics": ["conversion_value"], "goals": [{"event": "a", "value": "properties.total"}]},
    ],
)
def test_properties_and_ids_are_refused(docs: SharedDashboard, more: dict[str, Any]) -> None:
    reply = docs.metrics(**more)

    assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")
