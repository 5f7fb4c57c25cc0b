"""Fills the generated blocks of the REFERENCE.md files from the code's values (`make docs`)."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from deploy.docs import protocols_tables
from ingest.endpoints.scripts import read_manifest
from query.custom.tables import CUSTOM_TABLES
from query.formats.output_formats import FORMATS
from query.metrics.metrics import METRICS
from query.metrics.vitals import VITAL_METRICS, VITALS
from query.request.operators import OPERATORS
from query.scope.visits import FACTS, ROW_PREFIX, SOURCE_FACTS, VISIT_PREFIX
from query.sql.aggregates import AGGREGATES, AVERAGED_TYPES, NUMBER_TYPES, ORDERED_TYPES
from query.standard.declaration.fields import describe_row
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import FAMILIES
from schemas import errors
from schemas.errors import ApiError
from schemas.kinds import ALL_KINDS, lake_tables
from schemas.plans import MIB, NO_LIMIT, PLANS, Group, Limit
from stream.enrich.pipeline import PIPELINE
from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import CHANNEL_RULES, PAID_MEDIUMS
from stream.enrich.rules.referrer_list import REFERRERS

ROOT = Path(__file__).parents[2]


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(list(head)), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def kinds_table() -> str:
    return markdown_table(
        ("kind", "route", "item", "topic", "table"),
        (
            (
                k.name,
                f"`POST {k.path}`" if k.path else "`GET /l/{slug}`",
                k.item.__name__,
                k.topic,
                k.table.name,
            )
            for k in ALL_KINDS
        ),
    )


def tables_section() -> str:
    return "\n\n".join(
        f"### {t.name}\n\nOrder of rows in new data files: {', '.join(t.sort_order)}.\n\n"
        + markdown_table(
            ("column", "type", "meaning"),
            ((f"`{c.name}`", c.type, c.description) for c in t.columns),
        )
        for t in lake_tables()
    )


def errors_table() -> str:
    family = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, ApiError)]
    rows = sorted((e.status, f"`{e.code}`", (e.__doc__ or "").splitlines()[0]) for e in family)
    return markdown_table(("status", "code", "meaning"), rows)


def plans_table() -> str:
    rows = ((plan, *(_limit(limits[group]) for group in Group)) for plan, limits in PLANS.items())
    return markdown_table(("plan", *Group), rows)


def _limit(limit: Limit) -> str:
    mib = f", {limit.bytes // MIB:,} MiB" if limit.bytes < NO_LIMIT else ""
    items = f", {limit.items:,} items" if limit.items < NO_LIMIT else ""
    return f"{limit.requests:,}{mib}{items}"


def query_types_table() -> str:
    return markdown_table(
        ("type", "asked with", "row", "rows", "what"),
        (
            (
                ", ".join(f"`{name}`" for name in (t.name, *t.aliases)),
                _inputs(t),
                ", ".join(f"`{name}` {unit}" for name, unit in describe_row(t.row).items()),
                _row_count(t),
                t.description,
            )
            for family in FAMILIES
            for t in family
        ),
    )


def _inputs(query_type: QueryType) -> str:
    options = query_type.options.__struct_encode_fields__ if query_type.options else ()
    filters = [f"filter on `{name}`" for name in query_type.required_filters]
    return ", ".join([query_type.subject, *filters, *(f"`{name}`" for name in options)])


def _row_count(query_type: QueryType) -> str:
    return "every bucket" if query_type.series else f"{query_type.default_limit:,}"


def operators_table() -> str:
    return markdown_table(
        ("operator", "the column", "takes"),
        (
            (f"`{o.name}`", o.description + (" (text only)" if o.text_only else ""), o.arity)
            for o in OPERATORS
        ),
    )


def visit_facts_table() -> str:
    plain = {fact.name for fact in SOURCE_FACTS}
    return markdown_table(
        ("fact of the visit", "also as", "the row's own", "what it is"),
        (
            (
                f"`{fact.field}`",
                f"`{fact.name}`" if fact.name in plain else "-",
                f"`{ROW_PREFIX}{fact.name}`" if fact.name in plain else f"`{fact.column}`",
                f"{fact.column} of the {'last' if fact.is_last else 'first'} page view",
            )
            for fact in FACTS
        ),
    )


def aggregates_table() -> str:
    fits = {
        NUMBER_TYPES: "numbers",
        AVERAGED_TYPES: "numbers, true and false",
        ORDERED_TYPES: "numbers, instants",
    }
    rows = ((f"`{a.name}`", a.description, fits.get(a.types, "any column")) for a in AGGREGATES)
    return markdown_table(("aggregate", "is", "of"), rows)


def metrics_table() -> str:
    plain = [metric for metric in METRICS if metric not in VITAL_METRICS]
    rows = ((f"`{m.name}`", m.subject, m.unit, m.description) for m in plain)
    return markdown_table(("metric", "of", "unit", "meaning"), rows)


def vitals_table() -> str:
    rows = ((f"`{v.name.lower()}`", v.unit, f"<= {v.good}", f"> {v.poor}") for v in VITALS)
    return markdown_table(("vital", "unit", "good", "poor"), rows)


def formats_table() -> str:
    rows = ((f"`{f.name}`", f"`{f.media_type}`", f.description) for f in FORMATS)
    return markdown_table(("format", "media type", "is"), rows)


def custom_tables_section() -> str:
    return "\n\n".join(
        f"#### {t.name}\n\n{t.description[0].upper()}{t.description[1:]}.\n\n"
        + markdown_table(
            ("column", "type", "meaning"),
            (
                (f"`{c.name}`", c.type, c.description)
                for c in t.columns
                if c.alias_of is None and not c.name.startswith(VISIT_PREFIX)
            ),
        )
        for t in CUSTOM_TABLES.values()
    )


def channels_table() -> str:
    columns = ("paid", "medium", "source", "campaign", "kind")
    rows = (
        (number, rule.channel, *(_patterns(getattr(rule, column)) for column in columns))
        for number, rule in enumerate(CHANNEL_RULES, 1)
    )
    return markdown_table(("", "channel", *columns), rows)


def paid_patterns() -> str:
    return _patterns(PAID_MEDIUMS)


def _patterns(patterns: bool | tuple[str, ...]) -> str:
    if isinstance(patterns, bool):
        return "yes" if patterns else ""
    return ", ".join(f"`{pattern}`" for pattern in patterns)


def click_ids_table() -> str:
    rows = ((f"`{i.name}`", i.by, i.kind, "yes" if i.paid else "") for i in CLICK_IDS)
    return markdown_table(("click id", "of", "kind", "paid"), rows)


def referrers_table() -> str:
    rows = ((kind, len(hosts), ", ".join(hosts)) for kind, hosts in REFERRERS.kinds.items())
    return markdown_table(("type", "referrers", "names"), rows)


def scripts_table() -> str:
    rows = (
        (f"`{name}.js`", *(f"{size / 1024:.1f}" for size in msgspec.structs.astuple(script.sizes)))
        for name, script in read_manifest().items()
    )
    return markdown_table(("KiB", "plain", "gzip", "brotli"), rows)


def steps_table() -> str:
    return markdown_table(
        ("step", "fact"), ((f"`{step.name}`", step.description) for step in PIPELINE)
    )


def protocol_routes_table() -> str:
    return markdown_table(
        ("product", "stores what comes to", "only answers"), protocols_tables.routes()
    )


def protocol_clients_table() -> str:
    return markdown_table(
        ("product", "client", "stored", "dropped", *protocols_tables.OUTAGES, "note"),
        protocols_tables.clients(),
    )


BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "schemas/REFERENCE.md": {
        "kinds": kinds_table,
        "tables": tables_section,
        "errors": errors_table,
        "plans": plans_table,
    },
    "query/REFERENCE.md": {
        "types": query_types_table,
        "visit facts": visit_facts_table,
        "operators": operators_table,
        "aggregates": aggregates_table,
        "metrics": metrics_table,
        "vitals": vitals_table,
        "formats": formats_table,
        "custom": custom_tables_section,
    },
    "ingest/PROTOCOLS.md": {
        "routes": protocol_routes_table,
        "clients": protocol_clients_table,
    },
    "ingest/web/README.md": {"scripts": scripts_table},
    "stream/README.md": {"steps": steps_table},
    "stream/REFERENCE.md": {
        "channels": channels_table,
        "paid": paid_patterns,
        "click ids": click_ids_table,
        "referrers": referrers_table,
    },
}


def fill_blocks(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """The text with its blocks as the code has them."""
    for name, block in blocks.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise SystemExit(f"no block '{name}'")
        text = f"{before}{begin}{block()}\n{end}{after}"
    return text


def main() -> None:
    for name, blocks in BLOCKS.items():
        path = ROOT / name
        path.write_text(fill_blocks(path.read_text(), blocks))
        sys.stdout.write(f"{name}: {', '.join(blocks)}\n")


if __name__ == "__main__":
    main()
