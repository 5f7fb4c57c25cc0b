"""Fills the marked blocks of the READMEs from the values that the code runs on (`make docs`)."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from ingest.endpoints.scripts import read_manifest
from query.custom.aggregates import AGGREGATES, NUMBERS, ORDERED
from query.custom.tables import CUSTOM_TABLES
from query.formats.output_formats import FORMATS
from query.request.operators import OPERATORS
from query.standard.declaration.query_type import described
from query.standard.query_types import FAMILIES, QueryType
from schemas.kinds import EVERY_KIND
from schemas.plans import MIB, PLANS, UNLIMITED, Group, Limit
from schemas.tables import TABLES
from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import PAID, RULES
from stream.enrich.rules.referrer_list import FILE

ROOT = Path(__file__).parents[2]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(list(head)), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def kinds() -> str:
    return table(
        ("kind", "route", "item", "topic", "table"),
        (
            (
                k.name,
                f"`POST {k.path}`" if k.path else "`GET /l/{slug}`",
                k.item.__name__,
                k.topic,
                k.table.name,
            )
            for k in EVERY_KIND
        ),
    )


def tables() -> str:
    return "\n\n".join(
        f"### {t.name}\n\nSorted by {', '.join(t.order)}.\n\n"
        + table(
            ("column", "type", "meaning"), ((f"`{c.name}`", c.type, c.meaning) for c in t.columns)
        )
        for t in TABLES
    )


def plans() -> str:
    rows = ((plan, *(_limit(limits[group]) for group in Group)) for plan, limits in PLANS.items())
    return table(("plan", *Group), rows)


def _limit(limit: Limit) -> str:
    mib = f", {limit.bytes // MIB:,} MiB" if limit.bytes < UNLIMITED else ""
    items = f", {limit.items:,} items" if limit.items < UNLIMITED else ""
    return f"{limit.requests:,}{mib}{items}"


def query_types() -> str:
    return table(
        ("type", "asked with", "row", "rows", "what"),
        (
            (
                ", ".join(f"`{name}`" for name in (t.name, *t.aliases)),
                _asked_with(t),
                ", ".join(f"`{name}` {unit}" for name, unit in described(t.row).items()),
                _rows(t),
                t.meaning,
            )
            for family in FAMILIES
            for t in family
        ),
    )


def _asked_with(query_type: QueryType) -> str:
    options = query_type.options.__struct_encode_fields__ if query_type.options else ()
    filters = [f"filter on `{name}`" for name in query_type.needs]
    return ", ".join([query_type.subject, *filters, *(f"`{name}`" for name in options)])


def _rows(query_type: QueryType) -> str:
    return "every bucket" if query_type.series else f"{query_type.limit:,}"


def operators() -> str:
    return table(
        ("operator", "the column", "takes"),
        (
            (f"`{o.name}`", o.meaning + (" (text only)" if o.text_only else ""), o.takes)
            for o in OPERATORS
        ),
    )


def aggregates() -> str:
    fits = {NUMBERS: "numbers", ORDERED: "numbers, instants"}
    rows = ((f"`{a.name}`", a.meaning, fits.get(a.fits, "any column")) for a in AGGREGATES)
    return table(("aggregate", "is", "of"), rows)


def formats() -> str:
    rows = ((f"`{f.name}`", f"`{f.media_type}`", f.meaning) for f in FORMATS)
    return table(("format", "media type", "is"), rows)


def custom_tables() -> str:
    return "\n\n".join(
        f"#### {t.name}\n\n{t.meaning[0].upper()}{t.meaning[1:]}.\n\n"
        + table(
            ("column", "type", "meaning"), ((f"`{c.name}`", c.type, c.meaning) for c in t.columns)
        )
        for t in CUSTOM_TABLES.values()
    )


def channels() -> str:
    columns = ("paid", "medium", "source", "campaign", "kind")
    rows = (
        (number, rule.channel, *(_patterns(getattr(rule, column)) for column in columns))
        for number, rule in enumerate(RULES, 1)
    )
    return table(("", "channel", *columns), rows)


def paid() -> str:
    return _patterns(PAID)


def _patterns(patterns: bool | tuple[str, ...]) -> str:
    if isinstance(patterns, bool):
        return "yes" if patterns else ""
    return ", ".join(f"`{pattern}`" for pattern in patterns)


def click_ids() -> str:
    rows = ((f"`{i.name}`", i.by, i.kind, "yes" if i.paid else "") for i in CLICK_IDS)
    return table(("click id", "of", "kind", "paid"), rows)


def places() -> str:
    rows = ((kind, len(found), ", ".join(found)) for kind, found in FILE.kinds.items())
    return table(("kind", "places", "which"), rows)


def scripts() -> str:
    rows = (
        (f"`{name}.js`", *(f"{size / 1024:.1f}" for size in msgspec.structs.astuple(script.sizes)))
        for name, script in read_manifest().items()
    )
    return table(("KiB", "plain", "gzip", "brotli"), rows)


BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "schemas/README.md": {"kinds": kinds, "tables": tables, "plans": plans},
    "query/README.md": {
        "types": query_types,
        "operators": operators,
        "aggregates": aggregates,
        "formats": formats,
        "custom": custom_tables,
    },
    "ingest/web/README.md": {"scripts": scripts},
    "stream/README.md": {
        "channels": channels,
        "paid": paid,
        "click ids": click_ids,
        "places": places,
    },
}


def filled(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """The README with its blocks as the code has them."""
    for name, block in blocks.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"no block '{name}'")
        text = f"{before}{begin}{block()}\n{end}{after}"
    return text


def main() -> None:
    for name, blocks in BLOCKS.items():
        path = ROOT / name
        path.write_text(filled(path.read_text(), blocks))
        sys.stdout.write(f"{name}: {', '.join(blocks)}\n")


if __name__ == "__main__":
    main()
