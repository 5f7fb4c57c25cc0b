"""Converts columns of Python values to Arrow, and splits them by day of receipt."""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.tables import Table
from schemas.tables.column import EPOCH_COLUMN
from stream.rows.quarantine import QuarantineEntry, QuarantineStage, quarantine_entry
from stream.rows.repeated_column import RepeatedColumn
from stream.rows.row_batch import Column, RowBatch
from stream.storage.table_schema import arrow_schema

CONVERSION_ERRORS = (pa.ArrowException, ArithmeticError, TypeError, ValueError)
"""Errors that Arrow raises on a value that does not fit its column."""

COMPARED = frozenset({"session_id", "anonymous_id", "import_id"})
"""Columns that are compared or filled in Arrow, which takes no dictionaries there."""


def to_arrow(rows: RowBatch) -> tuple[pa.Table, list[QuarantineEntry]]:
    """The rows as one table, and the entries of rows with a value that does not fit its column.

    Columns of repeated strings are dictionaries, except those that rows are sorted or compared by.
    """
    try:
        return arrow_table(rows.kind.table, rows.columns, with_dictionaries=True), []
    except CONVERSION_ERRORS:
        return _convert_one_by_one(rows)


def arrow_table(
    table: Table, columns: Mapping[str, Column], with_dictionaries: bool = False
) -> pa.Table:
    """An Arrow table of these columns; columns that are missing are NULL."""
    schema = arrow_schema(table)
    count = len(columns[table.subject_column])
    plain = {*table.sort_order, *COMPARED} if with_dictionaries else set(schema.names)
    arrays = []
    for field in schema:
        values = (
            _array(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(count, field.type)
        )
        is_decoded = pa.types.is_dictionary(values.type) and field.name in plain
        arrays.append(values.dictionary_decode() if is_decoded else values)
    return pa.Table.from_arrays(arrays, schema.names)


def with_epoch(rows: pa.Table, epoch: int) -> pa.Table:
    """The rows with their topic's epoch, the same for all."""
    index = rows.schema.get_field_index(EPOCH_COLUMN.name)
    epochs = pa.repeat(pa.scalar(epoch, pa.int32()), rows.num_rows)
    return rows.set_column(index, rows.schema.field(index), epochs)


def _array(values: Column, arrow_type: pa.DataType) -> pa.Array:
    if isinstance(values, RepeatedColumn):
        return values.array(arrow_type)
    if isinstance(values, array):
        return pa.array(np.frombuffer(values, np.int64)).cast(arrow_type)
    if isinstance(values, list) and values[:1] == [None] and values.count(None) == len(values):
        return pa.nulls(len(values), arrow_type)  # many columns are empty, and the check is cheap
    if pa.types.is_decimal(arrow_type):  # Arrow rounds floats to the scale; Decimal is slow
        return pa.array(values, pa.float64()).cast(arrow_type)
    return pa.array(values, arrow_type)


def _convert_one_by_one(rows: RowBatch) -> tuple[pa.Table, list[QuarantineEntry]]:
    table = rows.kind.table
    good: list[int] = []
    quarantined: list[QuarantineEntry] = []
    for index in range(len(rows)):
        try:
            arrow_table(table, _subset(rows, [index]))
        except CONVERSION_ERRORS as error:
            quarantined.append(quarantine_entry(rows, index, QuarantineStage.WRITE, error))
        else:
            good.append(index)
    return arrow_table(table, _subset(rows, good)), quarantined


def _subset(rows: RowBatch, indexes: list[int]) -> dict[str, list[Any]]:
    return {name: [column[i] for i in indexes] for name, column in rows.columns.items()}


def split_by_day(rows: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each UTC day of `column`, with the day as `YYYY-MM-DD`."""
    days = pc.cast(rows[column], pa.timestamp("us")).cast(pa.date32(), safe=False)
    present = sorted(pc.unique(days).to_pylist())
    for day in present:
        yield day.isoformat(), kept_rows(rows, pc.equal(days, day)) if len(present) > 1 else rows


def kept_rows(rows: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The rows for which the mask is true, with no string of the others in a dictionary.

    A data file has its dictionaries whole: rows of a deleted import would leave their strings.
    """
    kept = rows.filter(mask)
    for place, column in enumerate(kept.columns):
        if pa.types.is_dictionary(column.type):
            strings = column.cast(column.type.value_type).dictionary_encode()
            kept = kept.set_column(place, kept.schema.names[place], strings)
    return kept


def received_column(table: Table) -> str:
    """The column with the time of receipt, which decides the table partition of a row."""
    return "received_at" if table.column("received_at") else table.time_column
