"""`tidemark mcp`: the MCP server, for programs that talk to language models."""

from importlib.util import find_spec
from typing import Any

import click

from deploy.cli.context import CliContext
from deploy.cli.query_options import make_client, service_options
from deploy.demo.demo_file import read_demo


@click.command()
@click.option("--website", metavar="ID", help="Default website. Default: the demo website.")
@click.option(
    "--rows",
    type=click.IntRange(1, 10_000),
    default=200,
    show_default=True,
    help="Rows of one result; a note says what was cut.",
)
@service_options
@click.pass_obj
def mcp(tidemark: CliContext, /, website: str | None, rows: int, **options: Any) -> None:
    """Serve queries as MCP tools on standard input and output, read-only.

    \b
    Configuration of a client:
      {"mcpServers": {"tidemark": {
        "command": "/path/to/tidemark/.venv/bin/tidemark",
        "args": ["mcp", "--website", "web_…", "--url", "http://127.0.0.1:4001"],
        "env": {"TIDEMARK_API_KEY": "tm_…"}}}}

    The key needs the scope read:data. Install the packages once with `make mcp`.
    """
    if find_spec("mcp") is None:
        raise click.ClickException(
            "the packages of the MCP server are not installed; run `make mcp`"
        )
    from deploy.mcp_server.result_text import TextLimit
    from deploy.mcp_server.server import serve
    from deploy.mcp_server.tools import ToolContext

    client = make_client(tidemark, options)
    demo = read_demo(tidemark.settings.data)
    default = website or (demo.website_id if demo else None)
    serve(ToolContext(client, default, TextLimit(rows)))
