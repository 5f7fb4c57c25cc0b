"""TableReader: one version of a table for reading, with few requests to an object store.

A `LakeTable` would create a missing table and add columns to it; this writes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from msgspec import Struct

from schemas.lake.delta_table import DataFile, read_version
from schemas.lake.log_numbers import open_with_numbers
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.storage.object_store import storage_at
from stream.storage.table_schema import arrow_schema

CONCURRENT_TABLES = 8


class TableReader(Struct, frozen=True):
    """One version of a table: its handle, its numbers and the rows of its data files."""

    table: Table
    handle: DeltaTable
    numbers: Mapping[str, int]
    """Next offsets and other numbers, by application id."""

    @classmethod
    def open(cls, settings: Settings, table: Table) -> "TableReader | None":
        """The newest version; None when there is no table.

        UnreadableTable when its log is damaged, OSError when the store cannot be read.
        """
        found = open_with_numbers(settings.lake_url, table)
        return cls(table, *found) if found else None

    def number(self, name: str) -> int:
        """The number under this application id; 0 without one."""
        return self.numbers.get(name, 0)

    def batches(
        self, columns: Sequence[str], condition: pc.Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """These columns of the rows that match, from all data files."""
        data_files = read_version(self.handle, self.table).data_files
        return read_batches(self.handle, self.table, data_files, columns, condition)


def open_readers(settings: Settings, tables: Iterable[Table]) -> Mapping[str, "TableReader"]:
    """The tables that exist, by name, opened at the same time; errors as of `TableReader.open`."""
    with ThreadPoolExecutor(CONCURRENT_TABLES) as pool:
        opened = pool.map(partial(TableReader.open, settings), tables)
        return {reader.table.name: reader for reader in opened if reader is not None}


def read_batches(
    handle: DeltaTable,
    table: Table,
    data_files: Iterable[DataFile],
    columns: Sequence[str],
    condition: pc.Expression | None = None,
) -> Iterator[pa.RecordBatch]:
    """These columns of the rows of some data files that match; null where a file has no column.

    The size of a file is known from the log, so an object store is not asked for it, and several
    files are read at once. OSError or ArrowException when a file cannot be read.
    """
    root = handle.table_uri.removeprefix("file://").rstrip("/")
    files = storage_at(handle.table_uri).filesystem()
    parquet, schema = ds.ParquetFileFormat(), arrow_schema(table)
    fragments = [
        parquet.make_fragment(file.path.removeprefix(f"{root}/"), files, file_size=file.size)
        for file in data_files
    ]
    data = ds.FileSystemDataset(fragments, schema, parquet, files)
    yield from data.to_batches(columns=list(columns), filter=condition)
