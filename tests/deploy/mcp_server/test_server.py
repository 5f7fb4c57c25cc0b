"""Tools as the protocol describes them, and errors as results."""

import jsonschema  # type: ignore[import-untyped]  # ships no types
from mcp_types import TextContent

from deploy.mcp_server.server import describe, run_tool
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
