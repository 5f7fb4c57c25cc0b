"""Rows of data files that are merged, in batches of a row group at most.

Strings are read as dictionaries: each value once, and a number for each row. Rows of a data file
repeat most strings; as dictionaries they are sorted, divided and written without a look at the
strings themselves.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.tables import Table
from stream.storage.table_schema import arrow_schema

STRINGS = pa.dictionary(pa.int32(), pa.string())

NO_DICTIONARY = frozenset({"event_id"})
"""Columns of strings that all differ."""


def row_schema(schema: pa.Schema) -> pa.Schema:
    """The columns with dictionaries for strings."""
    return pa.schema(
        [
            field.with_type(STRINGS)
            if pa.types.is_string(field.type) and field.name not in NO_DICTIONARY
            else field
            for field in schema
        ]
    )


def joined(tables: list[pa.Table], only_used: bool = False) -> pa.Table:
    """The rows of one or more tables with one dictionary for each column; empties the list.

    With `only_used`, dictionaries have only values that occur, in that order. This goes column by
    column, because joining all at once would double the memory of the rows.
    """
    schema = tables[0].schema
    columns = [[c for table in tables for c in table.column(n).chunks] for n in range(len(schema))]
    tables.clear()
    whole = []
    for field, chunks in zip(schema, columns, strict=True):
        column = _joined(chunks, field.type)
        chunks.clear()
        whole.append(_used(column) if only_used else column)
    return pa.Table.from_arrays(whole, schema=schema)


def _joined(chunks: list[pa.Array], kind: pa.DataType) -> pa.Array:
    if len(chunks) == 1:
        return chunks[0]
    return pa.chunked_array(chunks, kind).unify_dictionaries().combine_chunks()


def _used(values: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(values.type) or not len(values.dictionary):
        return values
    no_value = len(values.dictionary)
    numbers = values.indices.fill_null(no_value).to_numpy()
    first = np.full(no_value + 1, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of equal numbers the last counts
    used = np.flatnonzero(first[:no_value] < len(numbers))
    used = used[np.argsort(first[used])]
    new = np.zeros(no_value + 1, np.int32)
    new[used] = np.arange(len(used), dtype=np.int32)
    indices = pa.array(new[numbers], mask=numbers == no_value if values.null_count else None)
    return pa.DictionaryArray.from_arrays(indices, values.dictionary.take(pa.array(used)))


BATCH_ROWS = 65_536

Transform = Callable[[pa.Table], pa.Table]
"""Maps rows with all columns to the rows that are written."""


class SourceRows:
    """The rows of some Parquet files of a table, from `since` on and before `until`.

    Rows without a time are in none of both; without bounds all rows are. Columns have the types of
    the table, strings as dictionaries; one that a file does not have is NULL.
    """

    def __init__(
        self,
        table: Table,
        files: Sequence[Path],
        since: datetime | None = None,
        until: datetime | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.table = table
        self.schema = row_schema(arrow_schema(table))
        self._files = files
        self._since, self._until = since, until
        self._transform = transform

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows of the files, and their bytes without compression, as the footers say."""
        groups = (f.row_group(n) for f in self._footers for n in range(f.num_row_groups))
        return sum(f.num_rows for f in self._footers), sum(g.total_byte_size for g in groups)

    @cached_property
    def _footers(self) -> Sequence[pq.FileMetaData]:
        return [pq.read_metadata(file) for file in self._files]

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, file by file; with these columns only, which include the time, or with all."""
        fields = [self.schema.field(name) for name in names] if names else list(self.schema)
        schema = pa.schema(fields)
        for file, footer in zip(self._files, self._footers, strict=True):
            groups = self._groups(footer)
            if not groups:
                continue
            stored = [name for name in schema.names if name in footer.schema.names]
            strings = [name for name in stored if schema.field(name).type == STRINGS]
            with pq.ParquetFile(file, metadata=footer, read_dictionary=strings) as parquet:
                for batch in parquet.iter_batches(BATCH_ROWS, groups, stored, use_threads=False):
                    rows = self._within(pa.Table.from_batches([batch]))
                    if rows.num_rows:
                        rows = _with_types(rows, schema)
                        yield self._transform(rows) if self._transform and not names else rows

    def _groups(self, footer: pq.FileMetaData) -> list[int]:
        """The row groups whose statistics of the time allow for rows between the bounds."""
        place = footer.schema.names.index(self.table.time_column)
        found = []
        for n in range(footer.num_row_groups):
            known = footer.row_group(n).column(place).statistics
            if (
                known is None
                or not known.has_min_max
                or (
                    (self._since is None or known.max >= self._since)
                    and (self._until is None or known.min < self._until)
                )
            ):
                found.append(n)
        return found

    def _within(self, rows: pa.Table) -> pa.Table:
        for bound, is_inside in ((self._since, pc.greater_equal), (self._until, pc.less)):
            if bound is None:
                continue
            time = rows[self.table.time_column]
            inside = is_inside(time, pa.scalar(bound, time.type))
            if inside.null_count or not pc.all(inside).as_py():
                rows = rows.filter(inside)
        return rows


def _with_types(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(
        [
            rows[field.name].cast(field.type)
            if field.name in rows.column_names
            else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
            for field in schema
        ],
        schema=schema,
    )


def without_derived_hashes(rows: pa.Table) -> pa.Table:
    """Rows with deduplication keys only where they do not follow from the event id.

    These are keys of requests, of imported rows, and of rows of versions that did not store what
    the others need.
    """
    has_no_id = pc.equal(pc.coalesce(rows["event_id"], ""), "")
    stored = pc.or_(has_no_id, pc.is_null(rows["trusted"]))
    if "import_id" in rows.column_names:
        stored = pc.or_(stored, pc.is_valid(rows["import_id"]))
    place = rows.schema.get_field_index("event_hash")
    keys = pc.if_else(stored, rows["event_hash"], pa.scalar(None, pa.int64()))
    return rows.set_column(place, rows.schema.field(place), keys)
