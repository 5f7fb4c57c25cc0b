"""`tidemark mcp` as a client of the Model Context Protocol sees it, over a running installation."""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client as McpClient
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from query.client import Client
from tests.flow.tenant import DAY, Tenant, at_ms
from tests.installation import ROOT, Installation, eventually

DAYS = {"start": str(DAY), "end": str(DAY)}
CATALOGUE = ["list_query_types", "list_metrics", "list_tables"]
QUESTIONS = ["ask_metrics", "ask", "ask_custom", "compile_custom"]
COUNT = {"table": "events", "selects": [{"field": "*", "aggregate": "count", "alias": "n"}]}
Call = tuple[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def tenant_with_views(stack: Installation) -> Tenant:
    """A tenant with a page view on each of three paths."""
    tenant = Tenant.create(stack)
    client = Client(stack.query_url, tenant.key, stack.collect_url)
    views = [
        {
            "name": "screen_view",
            "anonymousId": "v",
            "path": f"https://shop.example/{i}",
            "timestamp": at_ms("10:00:00") + i,
        }
        for i in range(3)
    ]
    client.track(views, website_id=tenant.website.id)
    eventually(
        lambda: len(list(client.export("events", website_id=tenant.website.id, **DAYS))) == 3
    )
    return tenant


def server_of(tenant: Tenant, *arguments: str, key: str | None = None) -> StdioServerParameters:
    environment = {**tenant.stack.environment, "TIDEMARK_API_KEY": key or tenant.key}
    command = ["-m", "deploy.cli", "mcp", "--website", tenant.website.id, *arguments]
    return StdioServerParameters(
        command=sys.executable, args=command, env=dict(environment), cwd=ROOT
    )


def calls(server: StdioServerParameters, *wanted: Call) -> list[CallToolResult]:
    """The results of calls to one server, one after another."""

    async def run() -> list[CallToolResult]:
        async with McpClient(server) as client:
            return [await client.call_tool(name, dict(given)) for name, given in wanted]

    return asyncio.run(run())


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def json_of(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


def test_the_tools_are_read_only_and_described(tenant_with_views: Tenant) -> None:
    async def run() -> Any:
        async with McpClient(server_of(tenant_with_views)) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(run())

    assert [tool.name for tool in tools] == [*CATALOGUE, *QUESTIONS]
    assert {tool.annotations.read_only_hint for tool in tools} == {True}
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    properties = {**tools[4].input_schema["properties"]}
    assert "country = DE" in properties["filters"]["description"]


def test_named_and_custom_questions_are_answered(tenant_with_views: Tenant) -> None:
    filters = ["path in /0, /1"]
    pages, funnel, custom, compiled = calls(
        server_of(tenant_with_views),
        ("ask", {"query_type": "top_pages", "filters": filters, "order_by": ["name"], **DAYS}),
        ("ask", {"query_type": "funnel", "options": {"steps": ["/0", "/2"]}, **DAYS}),
        ("ask_custom", {**COUNT, "group_by": ["path"], "filters": filters, **DAYS}),
        ("compile_custom", {**COUNT, **DAYS}),
    )

    assert [row["name"] for row in json_of(pages)["rows"]] == ["/1", "/0"]
    assert [row["visitors"] for row in json_of(funnel)["rows"]] == [1, 1]
    assert json_of(custom)["rows"] == [{"path": "/0", "n": 1}, {"path": "/1", "n": 1}]
    assert json_of(custom)["timezone"] == "UTC"
    assert json_of(compiled)["tables"][0]["rows"] == 3


def test_metrics_are_answered(tenant_with_views: Tenant) -> None:
    converted = {
        "metrics": ["conversions(/1) as seen", "visitors", "p95(load_time) as slow"],
        "goals": ["/1"],
        "compare": "previous_period",
        "person": "profile",
        **DAYS,
    }
    listed, conversions, pages, wrong = calls(
        server_of(tenant_with_views),
        ("list_metrics", {}),
        ("ask_metrics", converted),
        ("ask_metrics", {"metrics": ["page_views"], "dimensions": ["path"], **DAYS}),
        ("ask_metrics", {"metrics": ["pageviewz"], **DAYS}),
    )

    assert "page_views" in [metric["name"] for metric in json_of(listed)["metrics"]]
    assert "visit.channel" in [each["name"] for each in json_of(listed)["dimensions"]]
    assert "note" not in json_of(listed)
    [row] = json_of(conversions)["rows"]
    assert (row["seen"], row["visitors"], row["slow"]) == (1, 1, None)
    assert (row["previous_seen"], row["change_seen"]) == (0, 1)
    assert json_of(pages)["rows"] == [{"path": f"/{i}", "page_views": 1} for i in range(3)]
    assert text_of(wrong).startswith("Unknown metric 'pageviewz'")


def test_the_catalogue_is_listed(tenant_with_views: Tenant) -> None:
    types, funnel, tables, events = calls(
        server_of(tenant_with_views),
        ("list_query_types", {}),
        ("list_query_types", {"name": "funnel"}),
        ("list_tables", {}),
        ("list_tables", {"name": "events"}),
    )

    entries = {entry["name"]: entry for entry in json_of(types)["query_types"]}
    assert entries["funnel"]["has_options"] is True
    assert "note" not in json_of(types)
    assert "steps" in str(json_of(funnel)["options"])
    assert "sessions" in [table["name"] for table in json_of(tables)["tables"]]
    assert "path" in [column["name"] for column in json_of(events)["columns"]]


def test_results_are_cut_with_a_note(tenant_with_views: Tenant) -> None:
    question = ("ask", {"query_type": "top_pages", **DAYS})
    [cut] = calls(server_of(tenant_with_views, "--rows", "2"), question)

    result = json_of(cut)
    assert (len(result["rows"]), result["total_rows"]) == (2, 3)
    assert result["note"].startswith("2 of 3 rows are shown. Ask for the others with `page`")


def test_errors_say_what_to_do(tenant_with_views: Tenant) -> None:
    wrong = calls(
        server_of(tenant_with_views),
        ("ask", {"query_type": "top_pagez", **DAYS}),
        ("ask", {"query_type": "top_pages", "filter": ["country = DE"], **DAYS}),
        ("ask", {"query_type": "top_pages", "filters": ["country"], **DAYS}),
        ("ask", {"query_type": "top_pages", "website_id": "web_of_another", **DAYS}),
        ("ask", {}),
        ("list_tables", {"name": "evnts"}),
        ("aks", {}),
    )

    texts = [text_of(result) for result in wrong]
    assert all(result.is_error for result in wrong)
    assert texts[0] == "top_pagez: Unknown query type 'top_pagez'; did you mean 'top_pages'?"
    assert texts[1] == "Unknown member 'filter' in the body; did you mean 'filters'?"
    assert texts[2].startswith("filter 'country' is no condition; write it as in")
    assert texts[3].endswith("Check website_id; if it is right, the API key has no access to it.")
    assert texts[4] == "'query_type' is missing"
    assert texts[5] == "Unknown table 'evnts'; list_tables without arguments lists all of them"
    assert texts[6] == "Unknown tool 'aks'; did you mean 'ask'?"


def test_a_wrong_key_is_an_error_of_the_tool(tenant_with_views: Tenant) -> None:
    server = server_of(tenant_with_views, key="tm_wrong")
    [denied] = calls(server, ("ask", {"query_type": "summary"}))

    assert denied.is_error
    assert "The server was started without a valid API key" in text_of(denied)
