"""Rows of a receipt's items: which of them a table has, and which are bots'."""

from collections.abc import Mapping, Sequence

from query.engine.engine import Engine, Sql
from query.engine.quarantine import EpochPartition
from query.engine.snapshots import PinnedVersion
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS
from schemas.receipts import Receipt
from schemas.tables.column import ROW_KEY, Table

FLAGGED_WITHOUT_RULE = "bot"
"""Reason of a flagged row that has none."""


async def stored_rows(
    engine: Engine,
    table: Table,
    pinned: PinnedVersion,
    partition: EpochPartition,
    receipt: Receipt,
    owners: Sequence[str],
    seconds: float,
) -> Mapping[int, str | None]:
    """The rows of the owners' items by position in the chunk: a bot's rule, None for people."""
    start = receipt.received_ms - MAX_AGE_MS
    data_files = pinned.data_files(None, start, receipt.received_ms + MAX_FUTURE_MS + 1)
    if not data_files:
        return {}
    names = (table.subject_column, *ROW_KEY, "is_bot", "bot_reason")
    columns = [column for column in table.columns if column.name in names]
    relation = await engine.relation(pinned.version.with_files(data_files), columns)
    stored = Relation(
        name="stored",
        source=relation.text,
        columns=("seq", "is_bot", "bot_reason"),
        conditions=(
            "COALESCE(epoch, $before) = $epoch",
            "kafka_partition = $partition",
            "kafka_offset = $offset",
            f"seq BETWEEN $first AND $last AND IN_LIST({table.subject_column}, $owners)",
        ),
    )
    values = {
        "before": partition.default_epoch,
        "epoch": partition.epoch,
        "partition": partition.partition,
        "offset": receipt.offset,
        "first": receipt.first_position,
        "last": receipt.first_position + receipt.count - 1,
        "owners": list(owners),
    }
    select = Select(relations=(stored,), body="SELECT seq, is_bot, bot_reason FROM stored")
    sql = Sql(render(select, engine.dialect), merge_values(relation.values, values))
    rows = await engine.rows(sql, seconds)
    return {
        seq: (reason or FLAGGED_WITHOUT_RULE) if is_bot else None for seq, is_bot, reason in rows
    }
