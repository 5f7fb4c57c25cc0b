"""Rows that a table already holds are read back: few columns of what was received lately.

A data file that cannot be read is noted and passed over: storing goes on, for all tenants.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from msgspec import structs

from schemas.lake.damage_reports import DamagedFile
from stream.storage.delta_commit import LakeTable
from stream.storage.table_schema import arrow_schema

PARTITION, RECEIVED = "kafka_partition", "received_at"
READ_AHEAD = 1
"""Row groups beside the one that is worked on; more take memory and save no time."""
CONSEQUENCE = (
    "storing goes on without it: copies of its items sent again are not known as copies, and "
    "visits that it began may begin anew"
)


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
    recent = (pc.field(RECEIVED) >= pa.scalar(since, pa.timestamp("us", "UTC"))) & wanted
    chosen = recent & pc.field(PARTITION).isin(sorted(partitions))
    noted = table.damage.of(table.table.name)
    for held in _held(table, since):
        if held.name in noted:
            continue
        try:
            yield from _rows(table, held.path, columns, chosen)
        except (OSError, pa.ArrowException) as bad:
            problem = f"cannot be read ({str(bad).splitlines()[0][:200]})"
            table.damage.note(structs.replace(held, problem=problem), CONSEQUENCE)


def _rows(
    table: LakeTable, path: str, columns: Sequence[str], chosen: pc.Expression
) -> Iterator[pa.RecordBatch]:
    data = ds.dataset(
        [path],
        schema=arrow_schema(table.table),
        filesystem=table.store.tree(),
        format=ds.ParquetFileFormat(
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(
                page_checksum_verification=True
            )
        ),
    )
    for rows in data.to_batches(
        columns=[PARTITION, RECEIVED, *columns],
        filter=chosen,
        batch_readahead=READ_AHEAD,
        fragment_readahead=READ_AHEAD,
    ):
        rows.validate(full=True)
        yield rows


def _held(table: LakeTable, since: datetime) -> list[DamagedFile]:
    """The data files that may hold such rows, oldest first, as notes with no problem yet."""
    actions = table.handle.get_add_actions(flatten=True)
    paths = actions.column("path").to_pylist()
    rows = actions.column("num_records").to_pylist()
    name = f"max.{RECEIVED}"
    newest = [None] * len(paths)
    if name in actions.schema.names:
        newest = list(actions.column(name).cast(pa.timestamp("us", "UTC")).to_pylist())
    held = sorted(
        (last or since, path, count or 0)
        for path, count, last in zip(paths, rows, newest, strict=True)
        if last is None or last >= since
    )
    return [DamagedFile(table.table.name, path, "", count) for _, path, count in held]


def milliseconds(batch: pa.RecordBatch | pa.Table, column: str) -> pa.Array:
    """A column of instants as Unix milliseconds."""
    micros = batch[column].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pc.divide(micros, 1000)
