"""RE_ENRICHMENT_PIPELINE: the steps that can run again on stored rows, and their input.

Not stored are the IP address, so locations stay as they are, and the visitor that the collector
named. For imported rows the values of the file win, so browser, system and bot stay as they are.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa
from msgspec import Raw

from schemas.envelope import Envelope
from schemas.items import EMPTY_RAW, Item
from schemas.kinds import Kind
from schemas.tables.column import USER_AGENT_COLUMNS
from stream.enrich.pipeline import PIPELINE, build_pipeline, run_pipeline
from stream.enrich.rules.campaign_parameters import UTM
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.referrer_list import DIRECT
from stream.enrich.steps.bot import DATA_CENTRE
from stream.enrich.steps.enrichment_step import columns
from stream.enrich.steps.sender import StoredSender, parse_sender
from stream.rows.arrow_tables import arrow_table
from stream.rows.row_batch import KEY_COLUMNS, Column, RowBatch

RE_ENRICHMENT_PIPELINE = build_pipeline(
    *(step for step in PIPELINE if step.repeatable),
    given=("is_data_centre", *columns("filename", "message", "stack")),
)

SENDER_COLUMNS = (
    *(column.name for column in USER_AGENT_COLUMNS),
    *("is_bot", "bot_reason"),
)
"""Columns derived from `sender`; without it they stay as they are."""

PAGE_COLUMNS = ("host", "path")

SAME_NAMED_COLUMNS = (
    *("name", "title", "href", *UTM, "click_id", "slug", "message", "metric_name"),
    *("filename", "stack"),
)
"""Item fields that are stored in a column of the same name."""

INPUT_COLUMNS = frozenset(
    (
        *KEY_COLUMNS,
        *SAME_NAMED_COLUMNS,
        *SENDER_COLUMNS,
        *PAGE_COLUMNS,
        "referrer",
        "link_text",
        "properties",
        "sender",
    )
) | {"import_id"}
"""Columns that the steps read, besides the subject."""

Columns = dict[str, Column]


def re_enrich_rows(kind: Kind, stored: pa.Table, lookups: Lookups) -> pa.Table:
    """The columns that the present rules give stored rows, as a table of those columns only."""
    names = [n for n in stored.column_names if n in INPUT_COLUMNS or n == kind.table.subject_column]
    old: Columns = stored.select(names).to_pydict()
    rows = RowBatch(
        kind, _items(kind, old), _envelopes(kind, old), {n: old[n] for n in KEY_COLUMNS}
    )
    rows.facts.is_data_centre = [reason == DATA_CENTRE for reason in old["bot_reason"]]
    run_pipeline(rows, lookups, RE_ENRICHMENT_PIPELINE)
    new = {name: column for name, column in rows.columns.items() if name in rows.table_columns}
    _keep_stored(new, old, SENDER_COLUMNS, _has_sender(old))
    if "host" in new:
        _keep_stored(new, old, PAGE_COLUMNS, [path is not None for path in old["path"]])
    table = arrow_table(
        kind.table, {kind.table.subject_column: old[kind.table.subject_column], **new}
    )
    return table.select([name for name in new if name not in KEY_COLUMNS])


def _keep_stored(
    new: Columns, old: Columns, names: Sequence[str], has_input: Sequence[bool]
) -> None:
    """Keep the stored value of rows without the input from which a new one is derived."""
    for name in new.keys() & old.keys() & set(names):
        new[name] = [
            after if derived else before
            for after, before, derived in zip(new[name], old[name], has_input, strict=True)
        ]


def _has_sender(old: Columns) -> list[bool]:
    imports = old.get("import_id") or [None] * len(old["sender"])
    return [
        sender is not None and import_id is None
        for sender, import_id in zip(old["sender"], imports, strict=True)
    ]


def _items(kind: Kind, old: Columns) -> list[Item]:
    """The items as far as they are stored, with their URLs rebuilt."""
    fields = set(kind.item.__struct_fields__)
    values = {name: old[name] for name in SAME_NAMED_COLUMNS if name in fields and name in old}
    if "referrer" in old:
        values["referrer"] = [None if url == DIRECT else url for url in old["referrer"]]
    if "path" in old:
        values["path"] = list(map(_page_url, old["host"], old["path"]))
    if "link_text" in old:
        values["text"] = old["link_text"]
    if "properties" in old:
        values["properties"] = [
            Raw(text.encode()) if text else EMPTY_RAW for text in old["properties"]
        ]
    absent: dict[str, Any] = dict.fromkeys(_required(kind.item) - set(values), "")
    count = len(old[kind.table.subject_column])
    rows = zip(*values.values(), strict=True) if values else [()] * count
    return [kind.item(**absent, **dict(zip(values, row, strict=True))) for row in rows]


def _required(item: type[Item]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(item) if field.required}


def _page_url(host: str | None, path: str | None) -> str | None:
    """A page's URL; its path is stored percent-decoded."""
    if path is None:
        return None
    return f"https://{host}{quote(path)}" if host else quote(path)


def _envelopes(kind: Kind, old: Columns) -> list[Envelope]:
    """The envelope of each row; rows of the same subject and sender share one."""
    by_key: dict[tuple[str, str | None], Envelope] = {}
    envelopes = []
    for key in zip(old[kind.table.subject_column], old["sender"], strict=True):
        if key not in by_key:
            by_key[key] = _envelope(*key)
        envelopes.append(by_key[key])
    return envelopes


def _envelope(subject_id: str, sender: str | None) -> Envelope:
    stored = parse_sender(sender) if sender else StoredSender()
    return Envelope(
        subject_id,
        "",
        0,
        0,
        b"",
        user_agent=stored.user_agent,
        trusted=stored.trusted,
        headers=stored.headers,
        names_visitor=stored.names_visitor,
    )
