"""AGAIN: the steps that stored rows can walk once more, and what those rows give them to read.

What only the request knew is not stored: the address (so places stay) and, where a tracker named
nobody, who it was. Of an import the file's word stands, so its agents and bots stay too.
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
from stream.enrich.pipeline import PIPELINE, build_pipeline, run_pipeline
from stream.enrich.rules.campaign_parameters import UTM
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.referrer_list import DIRECT
from stream.enrich.steps.bot import DATA_CENTRE, put_bot
from stream.enrich.steps.campaign import put_campaign
from stream.enrich.steps.channel import put_channel
from stream.enrich.steps.outbound_link import put_outbound_link
from stream.enrich.steps.page import put_page
from stream.enrich.steps.referrer import put_referrer
from stream.enrich.steps.rules_version import put_rules_version
from stream.enrich.steps.sender import StoredSender, parse_sender
from stream.enrich.steps.user_agent import put_user_agent
from stream.rows.arrow_tables import arrow_table
from stream.rows.row_batch import ROW_IDENTITY, RowBatch

REPEATABLE_STEPS = frozenset(
    (
        put_page,
        put_campaign,
        put_referrer,
        put_channel,
        put_user_agent,
        put_bot,
        put_outbound_link,
        put_rules_version,
    )
)

RE_ENRICHMENT_PIPELINE = build_pipeline(
    *(step for step in PIPELINE if step.run in REPEATABLE_STEPS), given=("is_data_centre",)
)

SENDER_COLUMNS = (
    *("browser_name", "browser_version", "os_name", "os_version", "device_type"),
    *("is_bot", "bot_reason"),
)
"""Columns that are worked out from what the sender's program said; else they stay."""

PAGE_COLUMNS = ("host", "path")

SAME_NAMED_COLUMNS = ("name", "title", "href", *UTM, "click_id", "slug", "message", "metric_name")
"""Item fields that stand in a column of the same name."""

INPUT_COLUMNS = frozenset(
    (
        *ROW_IDENTITY,
        *SAME_NAMED_COLUMNS,
        *SENDER_COLUMNS,
        *PAGE_COLUMNS,
        "referrer",
        "link_text",
        "properties",
        "sender",
    )
) | {"import_id"}
"""Columns that the steps are given, besides the subject."""

Columns = dict[str, list[Any]]


def re_enrich_rows(kind: Kind, stored: pa.Table, lookups: Lookups) -> pa.Table:
    """The columns that the present rules give stored rows, as a table of those columns alone."""
    names = [n for n in stored.column_names if n in INPUT_COLUMNS or n == kind.table.subject_column]
    told: Columns = stored.select(names).to_pydict()
    rows = RowBatch(
        kind, _items(kind, told), _envelopes(kind, told), {n: told[n] for n in ROW_IDENTITY}
    )
    rows.facts.is_data_centre = [reason == DATA_CENTRE for reason in told["bot_reason"]]
    run_pipeline(rows, lookups, RE_ENRICHMENT_PIPELINE)
    made = {name: column for name, column in rows.columns.items() if name in rows.table_columns}
    _keep_stored(made, told, SENDER_COLUMNS, _knows_its_sender(told))
    if "host" in made:
        _keep_stored(made, told, PAGE_COLUMNS, [path is not None for path in told["path"]])
    whole = arrow_table(
        kind.table, {kind.table.subject_column: told[kind.table.subject_column], **made}
    )
    return whole.select([name for name in made if name not in ROW_IDENTITY])


def _keep_stored(made: Columns, told: Columns, names: Sequence[str], new: Sequence[bool]) -> None:
    """What is stored, where there was nothing to work it out from."""
    for name in made.keys() & told.keys() & set(names):
        made[name] = [
            own if known else before
            for own, before, known in zip(made[name], told[name], new, strict=True)
        ]


def _knows_its_sender(told: Columns) -> list[bool]:
    imports = told.get("import_id") or [None] * len(told["sender"])
    return [
        sender is not None and import_id is None
        for sender, import_id in zip(told["sender"], imports, strict=True)
    ]


def _items(kind: Kind, told: Columns) -> list[Item]:
    """The items as far as they are stored; their URLs put together again."""
    fields = set(kind.item.__struct_fields__)
    given = {name: told[name] for name in SAME_NAMED_COLUMNS if name in fields and name in told}
    if "referrer" in told:
        given["referrer"] = [None if sent == DIRECT else sent for sent in told["referrer"]]
    if "path" in told:
        given["path"] = list(map(_page_url, told["host"], told["path"]))
    if "link_text" in told:
        given["text"] = told["link_text"]
    if "properties" in told:
        given["properties"] = [Raw(p.encode()) if p else EMPTY_RAW for p in told["properties"]]
    absent = dict.fromkeys(_required(kind.item) - set(given), "")
    count = len(told[kind.table.subject_column])
    values = zip(*given.values(), strict=True) if given else [()] * count
    return [kind.item(**absent, **dict(zip(given, each, strict=True))) for each in values]


def _required(item: type[Item]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(item) if field.required}


def _page_url(host: str | None, path: str | None) -> str | None:
    """A page's URL, whose path was decoded before it was stored."""
    if path is None:
        return None
    return f"https://{host}{quote(path)}" if host else quote(path)


def _envelopes(kind: Kind, told: Columns) -> list[Envelope]:
    """One for each subject and sender, as many rows as it has."""
    made: dict[tuple[str, str | None], Envelope] = {}
    found = []
    for key in zip(told[kind.table.subject_column], told["sender"], strict=True):
        if key not in made:
            made[key] = _envelope(*key)
        found.append(made[key])
    return found


def _envelope(subject_id: str, sender: str | None) -> Envelope:
    told = parse_sender(sender) if sender else StoredSender()
    return Envelope(subject_id, "", 0, 0, b"", "", told.user_agent, told.trusted, told.headers)
