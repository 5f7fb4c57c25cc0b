"""Requests that the tools make, to a service that answers as a script says."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from deploy.mcp_server.tools import TOOLS, ToolContext, advice
from query.client import InvalidRequest, ServiceError
from tests.query.client.scripted_service import Script, answering, scripted_services

BY_NAME = {tool.name: tool for tool in TOOLS}
ROW = {"parameter": "x", "success": True, "data": [{"a": 1}]}
DE = {"field": "country", "operator": "eq", "value": "DE"}
Use = Callable[..., tuple[str, Script]]


@pytest.fixture
def use() -> Iterator[Use]:
    with scripted_services() as play:

        def use(name: str, website: str | None = "w", **arguments: Any) -> tuple[str, Script]:
            client, script = play(answering(ROW if name == "ask" else {"a": 1}))
            tool = BY_NAME[name]
            given = msgspec.convert(arguments, tool.arguments)
            return tool.run(ToolContext(client, website), given), script

        yield use


def test_a_question_has_its_options_and_conditions(use: Use) -> None:
    text, script = use(
        "ask",
        query_type="x",
        options={"period": "month"},
        filters=["country = DE"],
        order_by=["a asc"],
        compare="previous_year",
        start="2026-11-01",
        end="2026-11-02",
        page=2,
    )

    assert text == '{"rows":[{"a":1}],"total_rows":1}'
    assert script.requests[0][0] == "/v1/query?website_id=w"
    assert script.requests[0][2] == {
        "parameters": [{"name": "x", "period": "month"}],
        "filters": [DE],
        "orderBy": [{"field": "a", "direction": "asc"}],
        "compare": "previous_year",
        "startDate": "2026-11-01",
        "endDate": "2026-11-02",
        "include_bots": False,
        "page": 2,
    }


def test_the_last_seven_days_are_the_usual_range(use: Use) -> None:
    _, script = use("ask", query_type="x", link_id="l")

    assert script.requests[0][0] == "/v1/query?link_id=l"
    assert script.requests[0][2]["preset"] == "last_7d"


def test_metrics_and_custom_queries_are_asked(use: Use) -> None:
    _, metrics = use("ask_metrics", metrics=["visits"], dimensions=["path"], having=["visits > 1"])
    selects = [{"field": "*", "aggregate": "count"}]
    _, custom = use("ask_custom", table="events", selects=selects, group_by=["path"])

    more = {"preset": "last_7d", "include_bots": False}
    assert metrics.requests[0][2] == {
        "metrics": ["visits"],
        "dimensions": ["path"],
        "having": [{"field": "visits", "operator": "gt", "value": 1}],
        **more,
    }
    query = {"table": "events", "selects": selects, "groupBy": ["path"]}
    assert custom.requests[0][2] == {"query": query, **more}


def test_a_website_is_needed(use: Use) -> None:
    with pytest.raises(InvalidRequest, match="'website_id' is missing"):
        use("ask", website=None, query_type="x")


def test_advice_goes_by_status_and_code() -> None:
    assert (
        advice(ServiceError(429, "RATE_LIMIT_EXCEEDED", "x"))
        == ". Wait a minute before asking again."
    )
    assert "`limit`" in advice(ServiceError(400, "RESULT_TOO_LARGE", "x"))
    assert advice(ServiceError(400, "VALIDATION_ERROR", "x")) == ""
