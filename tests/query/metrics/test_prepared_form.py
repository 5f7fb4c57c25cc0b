"""Metrics from prepared results are those from stored rows."""

import asyncio
from typing import Any

import pytest

from tests.query.metrics_queries import where
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.standard.diverse_rows import ROWS


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A service that has made the parts of all rows."""
    service = start_service(tmp_path_factory.mktemp("prepared"))
    service.holds(*ROWS)
    ask(service, metrics=["events"])
    assert service.results is not None
    asyncio.run(service.results.make_pending())
    return service


def ask(service: InProcessService, prepared: str = "true", **body: Any) -> Any:
    reply = service.ask(
        "POST", "/v1/query/metrics", {**NOVEMBER, **body}, website_id="shop", prepared=prepared
    )
    assert reply.status == 200, reply.json
    return reply.json


@pytest.mark.parametrize("dimension", [None, "country", "visit.channel", "time:day"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"filters": [where("country", "DE")]},
        {"filters": [where("visit.channel", "Direct", "ne")]},
        {"orderBy": [{"field": "visitors", "direction": "asc"}], "limit": 2, "page": 2},
        {"compare": "previous_period"},
    ],
)
def test_events_and_visitors_are_those_of_stored_rows(
    service: InProcessService, dimension: str | None, more: Any
) -> None:
    dimensions = [dimension] if dimension else []
    body: Any = {"metrics": ["events", "visitors"], "dimensions": dimensions}

    prepared = ask(service, **body, **more)
    stored = ask(service, "false", **body, **more)

    assert prepared["meta"].pop("prepared")
    assert prepared == stored


@pytest.mark.parametrize(
    ("body", "is_prepared"),
    [
        ({"metrics": ["page_views"]}, True),
        ({"metrics": ["page_views"], "dimensions": ["time:week"]}, True),
        ({"metrics": ["page_views"], "dimensions": ["visit.entry_page"]}, True),
        ({"metrics": ["page_views"], "dimensions": ["path"]}, False),
        ({"metrics": ["page_views", "events"]}, True),
        ({"metrics": ["visits", "bounce_rate"]}, True),
        ({"metrics": ["visits"], "dimensions": ["path"]}, False),
        ({"metrics": ["events"], "dimensions": ["folder"]}, False),
        ({"metrics": ["events"], "dimensions": ["path_group"]}, False),
        ({"metrics": ["events"], "filters": [where("folder", "/")]}, False),
        ({"metrics": ["events"], "filters": [where("path_group", "Blog")]}, False),
        ({"metrics": ["events"], "having": [where("events", 0, "gt")]}, False),
        ({"metrics": ["events"], "include_bots": True}, False),
    ],
)
def test_which_metrics_are_prepared(
    service: InProcessService, body: Any, is_prepared: bool
) -> None:
    answered = ask(service, **body)
    explained = service.ask(
        "POST", "/v1/query/compile", {**NOVEMBER, **body}, website_id="shop"
    ).json

    assert answered["meta"].pop("prepared", False) is is_prepared
    assert explained["prepared"] is is_prepared
    assert ("reason" in explained) is not is_prepared
    assert answered == ask(service, "false", **body)
