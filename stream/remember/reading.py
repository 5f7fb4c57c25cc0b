"""Rows that a table already holds are read back: few columns of what was received lately."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from stream.commit import LakeTable
from stream.types import arrow_schema

PARTITION, RECEIVED = "kafka_partition", "received_at"
READ_AHEAD = 1
"""Parts and row groups beside the one that is worked on; more take memory and save no time."""


def read_back(
    table: LakeTable,
    columns: Sequence[str],
    wanted: pc.Expression,
    partitions: Collection[int],
    since_ms: int,
) -> Iterator[pa.RecordBatch]:
    """The rows of these topic partitions, received since, as of the handle's version.

    Oldest parts first. What lies in memory at a time is a few hundred thousand rows.
    """
    since = datetime.fromtimestamp(since_ms / 1000, UTC)
    paths = _paths(table, since)
    if not paths:
        return
    data = ds.dataset(
        paths,
        schema=arrow_schema(table.table),
        filesystem=table.store.tree(),
        format="parquet",
    )
    recent = (pc.field(RECEIVED) >= pa.scalar(since, pa.timestamp("us", "UTC"))) & wanted
    yield from data.to_batches(
        columns=[PARTITION, RECEIVED, *columns],
        filter=recent & pc.field(PARTITION).isin(sorted(partitions)),
        batch_readahead=READ_AHEAD,
        fragment_readahead=READ_AHEAD,
    )


def _paths(table: LakeTable, since: datetime) -> list[str]:
    """Relative paths of the parts that may hold such rows."""
    actions = table.handle.get_add_actions(flatten=True)
    paths = actions.column("path").to_pylist()
    name = f"max.{RECEIVED}"
    if name not in actions.schema.names:
        return sorted(paths)
    newest = actions.column(name).cast(pa.timestamp("us", "UTC")).to_pylist()
    held = sorted(
        (last or since, path)
        for path, last in zip(paths, newest, strict=True)
        if last is None or last >= since
    )
    return [path for _, path in held]


def milliseconds(batch: pa.RecordBatch | pa.Table, column: str) -> pa.Array:
    """A column of instants as Unix milliseconds."""
    micros = batch[column].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pc.divide(micros, 1000)
