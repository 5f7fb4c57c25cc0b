"""TOOLS: what a model can ask; all of them read only."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from deploy.mcp_server.arguments import (
    CustomArguments,
    MetricsArguments,
    NameArguments,
    NoArguments,
    QueryTypeArguments,
    TimeArguments,
)
from deploy.mcp_server.result_text import TextLimit, entries_text, rows_text, to_json
from query.client import Client, InvalidRequest, Rows, ServiceError

DEFAULT_PRESET = "last_7d"


class ToolContext(Struct, frozen=True):
    """Dependencies of the tools: client, default website, limit of results."""

    client: Client
    website_id: str | None = None
    limit: TextLimit = TextLimit()

    def request(self, arguments: TimeArguments) -> dict[str, Any]:
        """Subject, time range and page as arguments of the client."""
        fields = TimeArguments.__struct_fields__
        request = {name: getattr(arguments, name) for name in fields}
        if getattr(arguments, "link_id", None):
            request["link_id"] = arguments.link_id  # type: ignore[attr-defined]  # as asked above
        else:
            request["website_id"] = arguments.website_id or self.website_id
            if request["website_id"] is None:
                message = "'website_id' is missing: name the website; there is no default"
                raise InvalidRequest(400, "VALIDATION_ERROR", message)
        if not (arguments.start or arguments.end or arguments.preset):
            request["preset"] = DEFAULT_PRESET
        return request

    def text(self, rows: Rows) -> str:
        """Rows within the limit."""
        return rows_text(rows, rows.meta, self.limit)


class McpTool(Struct, frozen=True):
    """One tool: its arguments and what it answers."""

    name: str
    description: str
    arguments: type[Struct]
    run: Callable[[ToolContext, Any], str]


def list_query_types(context: ToolContext, arguments: NameArguments) -> str:
    """Names and descriptions, or everything about one type."""
    types = context.client.query_types()
    if arguments.name is not None:
        return to_json(_entry(types, arguments.name, "query type", "list_query_types"))
    entries = [
        {"name": name, "description": type_["description"]}
        | ({"has_options": True} if type_["options"] else {})
        for name, type_ in types.items()
        if name == type_["name"]
    ]
    return entries_text("query_types", entries, context.limit)


def list_metrics(context: ToolContext, arguments: NoArguments) -> str:  # noqa: ARG001 - has none
    """Metrics and dimensions."""
    found = context.client.metrics_catalogue()
    metrics, dimensions = found["metrics"], found["dimensions"]
    return entries_text("dimensions", dimensions, context.limit, metrics=metrics)


def list_tables(context: ToolContext, arguments: NameArguments) -> str:
    """Tables, or the columns of one."""
    found = context.client.tables()
    tables = {table["name"]: table for table in found["tables"]}
    shared = {name: found[name] for name in ("aggregates", "operators", "timeBuckets")}
    if arguments.name is None:
        entries = [{"name": t["name"], "meaning": t["meaning"]} for t in tables.values()]
        return entries_text("tables", entries, context.limit, **shared)
    table = _entry(tables, arguments.name, "table", "list_tables")
    columns = [{n: c[n] for n in ("name", "type", "meaning")} for c in table["columns"]]
    properties = {"properties": table["properties"]} if table.get("properties") else {}
    return entries_text("columns", columns, context.limit, table=table["name"], **properties)


def ask(context: ToolContext, arguments: QueryTypeArguments) -> str:
    """The rows of a query type."""
    request = context.request(arguments)
    parameter = {**arguments.options, "name": arguments.query_type}
    own = {"granularity": arguments.granularity, "compare": arguments.compare}
    return context.text(context.client.ask(parameter, **_conditions(arguments), **own, **request))


def ask_metrics(context: ToolContext, arguments: MetricsArguments) -> str:
    """The rows of metrics by dimensions."""
    own = {**_conditions(arguments), "compare": arguments.compare}
    request = {**own, **context.request(arguments)}
    return context.text(
        context.client.metrics(arguments.metrics, by=arguments.dimensions, **request)
    )


def ask_custom(context: ToolContext, arguments: CustomArguments) -> str:
    """The rows of a custom query."""
    return context.text(
        context.client.custom(_custom_query(arguments), **context.request(arguments))
    )


def compile_custom(context: ToolContext, arguments: CustomArguments) -> str:
    """The SQL of a custom query."""
    request = context.request(arguments)
    return to_json(context.client.compile(_custom_query(arguments), **request))


def _custom_query(arguments: CustomArguments) -> dict[str, Any]:
    query = {"table": arguments.table, "selects": arguments.selects, **_conditions(arguments)}
    return {**query, "groupBy": arguments.group_by} if arguments.group_by else query


def _conditions(arguments: Any) -> dict[str, Any]:
    """Filters, having, segments, goals and order that were given."""
    names = ("filters", "having", "segments", "goals", "order_by")
    return {name: value for name in names if (value := getattr(arguments, name, None))}


def _entry(entries: Mapping[str, Any], name: str, what: str, tool: str) -> Any:
    if name not in entries:
        message = f"Unknown {what} '{name}'; {tool} without arguments lists all of them"
        raise InvalidRequest(400, "VALIDATION_ERROR", message)
    return entries[name]


def advice(error: ServiceError) -> str:
    """Advice to a model about an error, beside its message."""
    sentence = ADVICE.get(error.code) or ADVICE.get(error.status)
    return f". {sentence}" if sentence else ""


ADVICE: Mapping[str | int, str] = {
    "RESULT_TOO_LARGE": "Ask with a `limit`, fewer dimensions or a shorter time range.",
    401: "The server was started without a valid API key; the user has to give one.",
    403: "Check website_id; if it is right, the API key has no access to it.",
    429: "Wait a minute before asking again.",
    503: "Try again, with a shorter time range or fewer dimensions.",
}
"""Advice by code or status of the error."""

_CUSTOM = (
    "Aggregates over one table (list_tables): for questions that metrics and query types cannot "
    "answer, e.g. sums of event properties. "
)

TOOLS = (
    McpTool(
        "list_query_types",
        "The named query types with what they answer. With `name`: columns, filters, options, "
        "limits and an example of that type. Call it before `ask`.",
        NameArguments,
        list_query_types,
    ),
    McpTool(
        "list_metrics",
        "The metrics (visitors, visits, bounce_rate, …) and dimensions (visit.channel, path, "
        "time:day, …) of `ask_metrics`, with their meaning.",
        NoArguments,
        list_metrics,
    ),
    McpTool(
        "list_tables",
        "The tables, aggregates and operators of custom queries; with `name`, the columns of that "
        "table. Column names are also those of filters.",
        NameArguments,
        list_tables,
    ),
    McpTool(
        "ask_metrics",
        "Any metrics by any dimensions, e.g. visits and bounce_rate by visit.channel. The first "
        "choice for most questions about visits, visitors and page views.",
        MetricsArguments,
        ask_metrics,
    ),
    McpTool(
        "ask",
        "The rows of one named query type, e.g. summary, top_pages, funnel, retention, goals, "
        "paths, web vitals or errors.",
        QueryTypeArguments,
        ask,
    ),
    McpTool("ask_custom", f"{_CUSTOM}Runs the query.", CustomArguments, ask_custom),
    McpTool(
        "compile_custom",
        f"{_CUSTOM}Shows its SQL and how many rows it would read, without running it.",
        CustomArguments,
        compile_custom,
    ),
)
