"""Tools as the protocol describes them, and errors as results."""

import asyncio
import io
import json
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]  # ships no types
from mcp.server.stdio import stdio_server
from mcp_types import TextContent

from deploy.mcp_server.server import ReadableLines, describe, run_tool
from deploy.mcp_server.tools import TOOLS, ToolContext
from query.client import Client

NOBODY = ToolContext(Client("http://127.0.0.1:1", "tm_x", tries=1), "w")


def test_every_schema_is_valid_and_forbids_other_arguments() -> None:
    for tool in map(describe, TOOLS):
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert "$ref" not in str(tool.input_schema)
        properties = tool.input_schema["properties"].values()
        assert all(property_["description"] for property_ in properties)


def test_a_service_that_is_not_there_is_an_error_of_the_tool() -> None:
    result = run_tool(NOBODY, "list_tables", {})

    [content] = result.content
    assert result.is_error
    assert isinstance(content, TextContent)
    assert content.text.startswith("The query service cannot be reached:")


def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_read() -> None:
    lines = '{"jsonrpc":\n[1]\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
    written = io.StringIO()

    async def read_all() -> list[Any]:
        stdin, stdout = anyio.wrap_file(io.StringIO(lines)), anyio.wrap_file(written)
        async with stdio_server(stdin, stdout) as (read, write), ReadableLines(read, write) as all_:
            messages = [item.message async for item in all_]
            await write.aclose()
            return messages

    [message] = asyncio.run(read_all())

    assert message.id == 7
    assert [json.loads(line) for line in written.getvalue().splitlines()] == [
        {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32700, "message": "Parse error: the line is not valid JSON"},
        },
        {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -32600,
                "message": "Invalid request: the line is no JSON-RPC message",
            },
        },
    ]
