"""One enriched item as a row by column name."""

from typing import Any

import msgspec

from schemas.kinds import CUSTOM_EVENT, Kind
from stream.enrich.pipeline import run_pipeline
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import arrow_table
from stream.rows.row_batch import RowBatch
from tests.stream.builders import an_envelope


def rows_of(kind: Kind, items: list[Any], **envelope: Any) -> RowBatch:
    """Items of one envelope, before enrichment."""
    from_one = an_envelope(items, **envelope)
    count = len(items)
    return RowBatch(
        kind,
        [msgspec.json.decode(msgspec.json.encode(item), type=kind.item) for item in items],
        [from_one] * count,
        {
            "kafka_partition": [0] * count,
            "kafka_offset": [0] * count,
            "seq": list(range(count)),
        },
    )


def row(
    item: dict[str, Any],
    kind: Kind = CUSTOM_EVENT,
    lookups: Lookups | None = None,
    **envelope: Any,
) -> dict[str, Any]:
    """The row that an item becomes."""
    rows = rows_of(kind, [item], **envelope)
    run_pipeline(rows, lookups or Lookups())
    found: dict[str, Any] = arrow_table(kind.table, rows.columns).to_pylist()[0]
    return found


def facts(item: dict[str, Any], *columns: str, **others: Any) -> tuple[Any, ...]:
    """These columns of the row that an item becomes."""
    found = row(item, **others)
    return tuple(found[column] for column in columns)


def case_facts(case: dict[str, Any], *columns: str) -> dict[str, Any]:
    """These columns of the page view of a golden case, without those that are NULL.

    A case has the page (`page`) and its referrer (`referrer`), and whatever else is sent (`item`,
    `headers`, `trusted`); `domain` is the website's in the registry.
    """
    item = {"name": "screen_view", "path": case.get("page"), "referrer": case.get("referrer")}
    values = facts(
        item | case.get("item", {}),
        *columns,
        lookups=Lookups(domain_of=lambda website: case.get("domain")),
        headers=case.get("headers", {}),
        trusted=case.get("trusted", False),
    )
    return {name: value for name, value in zip(columns, values, strict=True) if value is not None}
