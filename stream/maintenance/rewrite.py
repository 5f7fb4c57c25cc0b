"""Rewrites data files row by row into one new version.

The new files become visible with the commit, all or none: a killed process leaves files that no
version contains. Each file becomes at most one file and its rows keep their order, so that late and
imported rows stay in files of their own and readers can skip files as before.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.lake.data_files import data_file_path, file_checksum
from schemas.tables import Table
from stream.maintenance.merge_plan import LiveDataFile
from stream.maintenance.verification import verified_files
from stream.storage.delta_commit import LakeTable, OffsetUpdates
from stream.storage.object_store import temporary_directory
from stream.storage.parquet_writer import STATISTICS_COLUMNS, NewDataFile, statistics
from stream.storage.table_schema import arrow_schema

READ_BATCH_ROWS = 50_000
ROW_GROUP = 122_880

Transform = Callable[[pa.Table], pa.Table]
"""Maps some rows of a file, in their order, to the rows that replace them."""

ReportRows = Callable[[int], None]
"""Called with the number of further rows that were read."""


def rewrite_files(
    table: LakeTable,
    data_files: Sequence[LiveDataFile],
    transform: Transform,
    report_rows: ReportRows = lambda rows: None,  # noqa: ARG005
    emptied: Sequence[LiveDataFile] = (),
    updates: OffsetUpdates | None = None,
) -> None:
    """Replace the data files by transformed ones; Fenced when one was replaced meanwhile.

    `emptied` files are removed unread in the same version, which moves the numbers of `updates`.
    """
    new_files: list[NewDataFile] = []
    # On an error the new files are deleted: each retry on a full disk would leave more of them.
    with ExitStack() as on_error:
        for data_file in data_files:
            if new_file := _rewrite_file(table, data_file, transform, report_rows):
                on_error.callback(table.store.remove, new_file.path)
                new_files.append(new_file)
        on_error.pop_all()
    if replaced := {file.path: file.day.isoformat() for file in (*data_files, *emptied)}:
        table.replace_files(replaced, new_files, updates=updates)


def read_batches(
    table: Table, file: Path, rows: int = READ_BATCH_ROWS, columns: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """The rows of a file in batches, with all columns of the present table, or with these."""
    schema = arrow_schema(table)
    if columns is not None:
        schema = pa.schema([field for field in schema if field.name in columns])
    with pq.ParquetFile(file) as parquet:
        names = [name for name in schema.names if name in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(rows, columns=names):
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
    table: LakeTable, data_file: LiveDataFile, transform: Transform, report_rows: ReportRows
) -> NewDataFile | None:
    """The new file; None when no row is left."""
    day = data_file.day.isoformat()
    with (
        verified_files(table, [data_file]) as (source,),
        temporary_directory(table.store) as folder,
    ):
        target = folder / "part.parquet"
        statistics_rows = pa.concat_tables(
            _transform_file(table.table, source, target, transform, report_rows)
        )
        if not statistics_rows.num_rows:
            return None
        path = data_file_path(day, file_checksum(target))
        size = table.store.adopt(target, path)
    return NewDataFile(path, day, size, statistics(table.table, statistics_rows))


def _transform_file(
    table: Table, source: Path, target: Path, transform: Transform, report_rows: ReportRows
) -> Iterator[pa.Table]:
    """Write the transformed rows; yields the columns that have min/max statistics in the log."""
    schema = arrow_schema(table)
    statistics_columns = [
        n
        for n in (table.subject_column, table.time_column, *STATISTICS_COLUMNS)
        if n in schema.names
    ]
    with pq.ParquetWriter(target, schema, compression="zstd", write_page_checksum=True) as writer:
        for rows in read_batches(table, source, ROW_GROUP):
            transformed = transform(rows)
            writer.write_table(transformed, ROW_GROUP)
            yield transformed.select(statistics_columns)
            report_rows(rows.num_rows)
