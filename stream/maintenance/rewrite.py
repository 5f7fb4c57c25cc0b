"""Stored rows are changed or left out: part by part beside the table, then in one version.

Nothing is to be seen until the commit, and it is all or nothing: a process that is killed leaves
files that no version names. A part becomes one part: the rows that stay keep their order, so that
late rows and history stay apart and readers skip as they did.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.lake.data_files import data_file_path, file_checksum
from schemas.tables import Table
from stream.maintenance.merge_plan import LiveDataFile
from stream.maintenance.verification import verified_files
from stream.storage.delta_commit import LakeTable
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics
from stream.storage.table_schema import arrow_schema

READ_BATCH_ROWS = 50_000
ROW_GROUP = 122_880

Transform = Callable[[pa.Table], pa.Table]
"""Some rows of a part, in their order, to what stands for them."""

ReportRows = Callable[[int], None]
"""Told how many more rows were read."""


def rewrite_files(
    table: LakeTable,
    chosen: Sequence[LiveDataFile],
    transform: Transform,
    tell: ReportRows = lambda rows: None,  # noqa: ARG005
) -> None:
    """Swap the chosen parts for what the transform makes of them; Fenced when one is gone."""
    made: list[NewDataFile] = []
    with (
        ExitStack() as failing
    ):  # what is made on a full disk, again and again, must not stay there
        for piece in chosen:
            if part := _rewrite_file(table, piece, transform, tell):
                failing.callback(table.store.remove, part.path)
                made.append(part)
        failing.pop_all()
    if chosen:
        table.replace_files({piece.path: piece.day.isoformat() for piece in chosen}, made)


def read_batches(table: Table, file: Path, rows: int = READ_BATCH_ROWS) -> Iterator[pa.Table]:
    """The rows of a part, some at a time, with all columns that the table has by now."""
    schema = arrow_schema(table)
    with pq.ParquetFile(file) as opened:
        names = [name for name in schema.names if name in opened.schema_arrow.names]
        for batch in opened.iter_batches(rows, columns=names):
            yield _with_all_columns(pa.Table.from_batches([batch]), schema)


def _with_all_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(
        [
            rows[field.name].cast(field.type)
            if field.name in rows.column_names
            else pa.nulls(rows.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


def _rewrite_file(
    table: LakeTable, piece: LiveDataFile, transform: Transform, tell: ReportRows
) -> NewDataFile | None:
    """The new part; None when no row is left."""
    day = piece.day.isoformat()
    with verified_files(table, [piece]) as (source,), temporary_directory(table.store) as folder:
        target = folder / "part.parquet"
        measured = pa.concat_tables(_transform_file(table.table, source, target, transform, tell))
        if not measured.num_rows:
            return None
        path = data_file_path(day, file_checksum(target))
        size = table.store.adopt(target, path)
    return NewDataFile(path, day, size, statistics(table.table, measured))


def _transform_file(
    table: Table, source: Path, target: Path, transform: Transform, tell: ReportRows
) -> Iterator[pa.Table]:
    """Write what the transform makes of a file; gives the columns whose borders the log keeps."""
    schema = arrow_schema(table)
    bordered = [
        n
        for n in (table.subject_column, table.time_column, *STATISTICS_COLUMNS)
        if n in schema.names
    ]
    with pq.ParquetWriter(target, schema, compression="zstd", write_page_checksum=True) as writer:
        for rows in read_batches(table, source, ROW_GROUP):
            made = transform(rows)
            writer.write_table(made, ROW_GROUP)
            yield made.select(bordered)
            tell(rows.num_rows)
