"""`tidemark ask`: query types, metrics and custom queries through the Python client."""

import json as json_module
from collections.abc import Mapping
from typing import IO, Any

import click

from deploy.cli.context import CliContext, as_json, combine_options, print_json
from deploy.cli.query_options import (
    bom_option,
    client_errors,
    prepare_request,
    query_options,
    read_json,
)
from deploy.cli.query_output import (
    FILE_FORMAT_NAMES,
    print_compiled,
    print_results,
    print_table,
    write_output,
)
from query.client import Client, InvalidRequest, Rows, parse_metrics
from query.client.requests import STEP_OPTIONS, to_steps

LIST_OPTIONS = {"step": "steps", "goal": "goals"}
"""Option → the option of the query type that it fills."""

type_options = combine_options(
    click.option(
        "--step",
        multiple=True,
        metavar="STEP",
        help="Step of `funnel` and `funnel_trend`: a saved goal, a path that begins with /, or an "
        "event. Repeated. goal:NAME, path:PATH and event:NAME say which is meant.",
    ),
    click.option(
        "--goal",
        multiple=True,
        metavar="GOAL",
        help="Goal of `goals`, `attribution`, `time_to_convert` and of --metrics conversions, as "
        "--step.",
    ),
    click.option(
        "--breakdown",
        metavar="FIELD",
        help="Split funnel, goals, paths or retention by a field: visit.channel, properties.plan.",
    ),
    click.option(
        "--option",
        "own",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another option of the query type, e.g. period=month; the value is text or JSON.",
    ),
    click.option(
        "--granularity",
        help="Bucket of a time series: minute, quarter_hour, hourly, daily, weekly, sunday_week, "
        "monthly, quarterly, yearly.",
    ),
    click.option(
        "--compare",
        metavar="RANGE",
        help="Compare with previous_period, same_weekdays or previous_year.",
    ),
)

kind_options = combine_options(
    click.option(
        "--metrics",
        metavar="A,B",
        help="Metrics instead of query types: 'visitors, conversions(Sign-up), revenue(EUR), "
        "sum(properties.price) as turnover, p95(load_time)'. Arguments: goal of conversions and "
        "conversion_rate, currency or money property of revenue, property of an aggregate, then "
        "event=, goal=, money=, currency=; of 'formula(page_views / visits) as f' an expression.",
    ),
    click.option("--by", metavar="A,B", help="Dimensions of the metrics: visit.channel,time:day."),
    click.option(
        "--having",
        multiple=True,
        metavar="FILTER",
        help="Condition on metrics, as --where: 'visits > 10'. May be repeated.",
    ),
    click.option(
        "--segment",
        "segments",
        multiple=True,
        metavar="NAME",
        help="Saved segment whose rows stand beside those of others; 'all' for all visitors. May "
        "be repeated.",
    ),
    click.option(
        "--custom",
        type=click.File(),
        metavar="FILE",
        help="Custom query as JSON, from a file or - for standard input.",
    ),
)


@click.command()
@click.argument("types", nargs=-1, metavar="[TYPE]...")
@query_options
@type_options
@kind_options
@click.option(
    "--order", metavar="FIELD[ asc]", help="Fields to order by, descending unless 'name asc'."
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum rows per query type.")
@click.option("--page", type=click.IntRange(min=1), help="Which page of --limit rows.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", *FILE_FORMAT_NAMES]),
    default="table",
    show_default=True,
    help="Output format; file formats hold one query.",
)
@click.option(
    "--compile",
    "compile_",
    is_flag=True,
    help="Run nothing: show the SQL, the rows and the engine of query types or a custom query, and "
    "whether prepared results answer them.",
)
@bom_option
@as_json
@click.pass_obj
def ask(
    tidemark: CliContext,
    /,
    types: tuple[str, ...],
    metrics: str | None,
    by: str | None,
    having: tuple[str, ...],
    segments: tuple[str, ...],
    custom: IO[str] | None,
    format_: str,
    compile_: bool,
    json: bool,
    **options: Any,
) -> None:
    """Run query types by name, metrics by dimensions, or a custom query.

    \b
    tidemark ask summary top_pages --preset last_7d
    tidemark ask top_pages --where 'country = DE' --where 'visit.channel = Direct' --limit 5
    tidemark ask events_by_date --from 2026-11-01 --granularity weekly --compare previous_period
    tidemark ask funnel --step / --step /pricing --step signup
    tidemark ask goals --goal signup --goal /thanks --breakdown visit.channel
    tidemark ask funnel_trend --step / --step signup --option order=strict --granularity weekly
    tidemark ask retention --option period=month --format csv
    tidemark ask retention --option start=signup --option cohort=first_in_range
    tidemark ask attribution --goal signup --option model=linear
    tidemark ask --metrics visitors,bounce_rate --by visit.channel,time:day --order 'visitors desc'
    tidemark ask --metrics 'conversions(Sign-up), revenue(EUR)' --by visit.utm_campaign
    tidemark ask --metrics visits,bounce_rate --segment 'On phones' --segment all
    tidemark ask --custom query.json --json
    tidemark ask summary top_pages --preset last_30d --compile

    A TYPE may be JSON with options of its own: '{"name": "top_pages", "limit": 3}'.
    `GET /v1/query/types` and /docs of the query service list the types.
    """
    if sum(map(bool, (types, metrics, custom))) != 1:
        raise click.UsageError("give query types, --metrics or --custom: one of them")
    if (by or having or segments) and not metrics:
        option = "--by" if by else "--having" if having else "--segment"
        raise click.UsageError(f"{option} needs --metrics")
    terms = _metric_terms(metrics) if metrics else None
    own = _type_options(options)
    of_metrics = {
        "having": list(having) or None,
        "segments": [None if name == "all" else name for name in segments] or None,
        "goals": own.pop("goals", None) if metrics else None,
    }
    if own and len(types) != 1:
        raise click.UsageError(f"options of a query type ({', '.join(own)}) need exactly one TYPE")
    if "goals" in own and "goal" in STEP_OPTIONS.get(types[0], ()):
        own["goal"] = _only_goal(types[0], own.pop("goals"))
    client, request = prepare_request(tidemark, options)
    request["order_by"] = request.pop("order", None)
    if len(types) == 1 and request.get("granularity"):
        own["granularity"] = request.pop("granularity")  # refused by a type without series
    chosen = "json" if json else format_
    if request.get("bom") and chosen != "csv":
        raise click.UsageError("--bom needs --format csv")
    if compile_ and (metrics or chosen in FILE_FORMAT_NAMES):
        raise click.UsageError("--compile needs query types or --custom, and no file format")
    with client_errors():
        if custom is not None:
            query = _custom_query(read_json(custom.read(), "--custom"), request)
            if compile_:
                print_compiled({"custom": client.compile(query, **request)}, chosen == "json")
            else:
                _ask_custom(client, query, request, chosen)
        elif compile_:
            asked = [_parse_type(each, own) for each in types]
            print_compiled(client.compile(asked, **request), chosen == "json")
        elif terms is not None:
            _ask_metrics(client, terms, by or (), {**request, **of_metrics}, chosen)
        else:
            _ask_types(client, [_parse_type(each, own) for each in types], request, chosen)


def _only_goal(query_type: str, goals: list[Any]) -> Any:
    """The goal of a type that has one."""
    if len(goals) != 1:
        raise click.UsageError(f"{query_type} needs one --goal; {len(goals)} were given")
    return to_steps(goals)[0]


def _ask_types(client: Client, types: list[Any], request: dict[str, Any], format_: str) -> None:
    if format_ not in FILE_FORMAT_NAMES:
        print_results(client.each(types, **request), json=format_ == "json")
    elif len(types) > 1:
        raise click.UsageError(f"--format {format_} holds one query type; {len(types)} were given")
    else:
        write_output(client.written(types[0], format_, **request), format_)


def _ask_metrics(
    client: Client, metrics: list[Any], by: str | tuple[()], request: dict[str, Any], format_: str
) -> None:
    if format_ in FILE_FORMAT_NAMES:
        write_output(client.metrics_written(metrics, by, format_, **request), format_)
    else:
        _print_rows(client.metrics(metrics, by, **request), format_)


def _metric_terms(text: str) -> list[Any]:
    """The metrics of --metrics."""
    try:
        return parse_metrics(text)
    except InvalidRequest as error:
        raise click.UsageError(f"--metrics: {error}") from None


def _custom_query(query: Any, request: dict[str, Any]) -> Any:
    """The custom query of --custom with --where and --order, which are taken out of the request."""
    if not isinstance(query, dict):
        raise click.UsageError("--custom must be a JSON object with table and selects")
    if "query" in query:
        raise click.UsageError("--custom is the inner object: what the API has in 'query'")
    if filters := request.pop("filters", None):
        query["filters"] = [*query.get("filters", ()), *filters]
    if order := request.pop("order_by", None):
        query["orderBy"] = order
    return query


def _ask_custom(client: Client, query: Any, request: dict[str, Any], format_: str) -> None:
    if format_ in FILE_FORMAT_NAMES:
        write_output(client.custom_written(query, format_, **request), format_)
    else:
        _print_rows(client.custom(query, **request), format_)


def _print_rows(rows: Rows, format_: str) -> None:
    if format_ == "json":
        print_json(rows)
    else:
        print_table(rows)


def _type_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a query type, taken out of the command's options."""
    own: dict[str, Any] = {name: list(options.pop(option)) for option, name in LIST_OPTIONS.items()}
    own["breakdown"] = options.pop("breakdown") or []
    for text in options.pop("own"):
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--option '{text}' is not NAME=VALUE")
        own[name] = _json_or_text(value)
    return {name: value for name, value in own.items() if value != []}


def _json_or_text(value: str) -> Any:
    try:
        return json_module.loads(value)
    except ValueError:
        return value


def _parse_type(text: str, own: Mapping[str, Any]) -> Any:
    """A query type: its name, or with options a dict."""
    if not text.startswith("{"):
        return {"name": text, **own} if own else text
    query_type = read_json(text, "TYPE")
    if "name" not in query_type:
        raise click.UsageError(f"TYPE {text} has no 'name'")
    return {**query_type, **own}
