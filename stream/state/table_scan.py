"""Scans recent rows of a table, few columns, for rebuilding state.

A data file that cannot be read is reported and skipped: storing continues, for all tenants.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from msgspec import structs

from schemas.lake.damage_reports import DamagedFile
from stream.storage.delta_commit import LakeTable
from stream.storage.table_schema import arrow_schema

PARTITION, RECEIVED_AT = "kafka_partition", "received_at"
READ_AHEAD_GROUPS = 1
"""Row groups read ahead; more take memory and save no time."""
DAMAGE_CONSEQUENCE = (
    "storing continues without it: duplicates of its items are not recognized, and "
    "sessions that began in it may start again"
)


def scan_recent_rows(
    table: LakeTable,
    columns: Sequence[str],
    filter_: pc.Expression,
    partitions: Collection[int],
    since_ms: int,
    is_wanted: Callable[[str], bool] = lambda path: True,  # noqa: ARG005
) -> Iterator[pa.RecordBatch]:
    """The rows of these topic partitions received since then, as of the handle's version.

    Oldest data files first, those whose path is wanted; a few hundred thousand rows are in memory
    at a time.
    """
    since = datetime.fromtimestamp(since_ms / 1000, UTC)
    recent = (pc.field(RECEIVED_AT) >= pa.scalar(since, pa.timestamp("us", "UTC"))) & filter_
    condition = recent & pc.field(PARTITION).isin(sorted(partitions))
    damaged = table.damage_reports.of_table(table.table.name)
    for data_file in _candidate_files(table, since):
        if data_file.name in damaged:
            continue
        try:
            if not is_wanted(data_file.path):
                continue
            yield from _rows(table, data_file.path, columns, condition)
        except (OSError, pa.ArrowException) as error:
            problem = f"cannot be read ({str(error).splitlines()[0][:200]})"
            table.damage_reports.report(
                structs.replace(data_file, problem=problem), DAMAGE_CONSEQUENCE
            )


def _rows(
    table: LakeTable, path: str, columns: Sequence[str], condition: pc.Expression
) -> Iterator[pa.RecordBatch]:
    data = ds.dataset(
        [path],
        schema=arrow_schema(table.table),
        filesystem=table.store.filesystem(),
        format=ds.ParquetFileFormat(
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(
                page_checksum_verification=True
            )
        ),
    )
    for rows in data.to_batches(
        columns=[PARTITION, RECEIVED_AT, *columns],
        filter=condition,
        batch_readahead=READ_AHEAD_GROUPS,
        fragment_readahead=READ_AHEAD_GROUPS,
    ):
        rows.validate(full=True)
        yield rows


def _candidate_files(table: LakeTable, since: datetime) -> list[DamagedFile]:
    """The data files that may hold such rows, oldest first, as reports without a problem yet."""
    actions = table.handle.get_add_actions(flatten=True)
    paths = actions.column("path").to_pylist()
    rows = actions.column("num_records").to_pylist()
    name = f"max.{RECEIVED_AT}"
    newest = [None] * len(paths)
    if name in actions.schema.names:
        newest = list(actions.column(name).cast(pa.timestamp("us", "UTC")).to_pylist())
    files = sorted(
        (last or since, path, count or 0)
        for path, count, last in zip(paths, rows, newest, strict=True)
        if last is None or last >= since
    )
    return [DamagedFile(table.table.name, path, "", count) for _, path, count in files]


def to_unix_ms(batch: pa.RecordBatch | pa.Table, column: str) -> pa.Array:
    """A timestamp column as Unix milliseconds."""
    micros = batch[column].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pc.divide(micros, 1000)
