"""Columns of strings as dictionaries: each value once, and a number for each row.

Rows of a data file repeat most strings. Read as dictionaries they are sorted, divided and written
without a look at the strings themselves.
"""

import numpy as np
import pyarrow as pa

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

    With `only_used`, dictionaries have no other values, in the order in which they occur. This goes
    column by column, because the memory of both would be twice that of the rows.
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
