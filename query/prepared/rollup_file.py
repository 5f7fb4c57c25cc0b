"""A rollup as a Parquet file: one row group for each table, named in the column `table`.

All tables share one schema, in which a column that a table lacks is NULL. Visitors and sessions are
positions in the row groups `visitor_hashes` and `session_hashes`. DuckDB reads such a file:
`SELECT * FROM 'x.parquet' WHERE "table" = 'pages'`. Before the footer stands a checksum of the file
and its path, so that no file is read in place of another. Pages have checksums as well.
"""

import zlib
from collections.abc import Mapping, Sequence
from errno import EACCES, EMFILE, ENFILE, ENOMEM, EPERM
from io import BytesIO
from typing import IO, Any

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.rollup import (
    QUARTER_COLUMN,
    SESSION_COLUMN,
    VISITOR_COLUMN,
    Rollup,
    by_quarter,
    smallest,
)

TABLE_COLUMN, HASH_COLUMN = "table", "hash"
HASHES = {VISITOR_COLUMN: "visitor_hashes", SESSION_COLUMN: "session_hashes"}
"""The tables with the hashes that these columns are positions in."""
ASCENDING = (QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN)
"""Columns that are mostly a little more than in the row before."""
SCATTERED = (HASH_COLUMN, "visible", "measured")
"""Columns, beside instants and durations, of which few rows have the same number."""
TAIL_BYTES, CHECKSUM_BYTES = 8, 4
"""The length of the footer and the magic bytes after it; the checksum before it."""
CONTENTS = b"tidemark"
"""Key of the description of the tables in the footer."""
TEXT_BYTES, FOOTER_COPIES = 60, 3
"""Of a text in memory, beside its characters; how often the bytes of a footer are in memory."""
MAX_DICTIONARY_BYTES = 2**30


class Damaged(Exception):
    """The bytes are not those of a whole file."""


UNREADABLE = (
    OSError,
    Damaged,
    ValueError,  # of msgspec, too
    KeyError,
    IndexError,
    TypeError,
    NotImplementedError,  # of pyarrow
    OverflowError,
    MemoryError,
)
"""What reading a file may raise that is not what was written, although its checksums fit."""
OF_THE_PROCESS = frozenset((EMFILE, ENFILE, ENOMEM, EACCES, EPERM))
"""Error numbers that say nothing about the file."""


def is_damage(error: Exception) -> bool:
    """Whether one of UNREADABLE is a fault of the file, not a want of memory or descriptors."""
    return not isinstance(error, MemoryError) and (
        not isinstance(error, OSError) or error.errno not in OF_THE_PROCESS
    )


class StoredTable(Struct, frozen=True):
    """Which columns a table has, in which row group; None without rows."""

    columns: Sequence[str]
    texts: Sequence[str]
    """Those of the columns that are texts."""
    row_group: int | None


class RollupContents(Struct, frozen=True, eq=False):
    """The footer of a rollup."""

    metadata: Any
    """As pyarrow has it."""
    tables: Mapping[str, StoredTable]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        size: int = FOOTER_COPIES * self.metadata.serialized_size
        return size


class TableFrame(Struct, frozen=True, eq=False):
    """The quarter-hours of a table, and which other columns it has."""

    quarters: Numbers
    borders: Numbers
    columns: frozenset[str]
    texts: frozenset[str]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.quarters.nbytes + self.borders.nbytes


def write_rollup(file: IO[bytes], path: str, rollup: Rollup) -> None:
    """Write a rollup, whose file has this path in its folder."""
    tables = {name: columns.stored for name, columns in rollup.tables.items()}
    texts = {name: columns.texts for name, columns in rollup.tables.items()}
    write_tables(file, path, rollup.hashes, tables, texts)


def write_tables(
    file: IO[bytes],
    path: str,
    hashes: Mapping[str, Numbers],
    tables: Mapping[str, Mapping[str, Numbers]],
    texts: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    """Write the tables of a rollup, and the hashes that their columns are positions in."""
    import pyarrow as pa  # large; services without prepared results go without it
    from pyarrow import parquet

    of_hashes = {HASHES[column]: {HASH_COLUMN: values} for column, values in hashes.items()}
    everything: dict[str, Mapping[str, Numbers]] = {**of_hashes, **tables}
    stored, group_count = {}, 0
    for name, columns in everything.items():
        has_rows = any(map(len, columns.values()))
        of_texts = [*texts.get(name, {})]
        stored[name] = StoredTable([*columns], of_texts, group_count if has_rows else None)
        group_count += has_rows
    text = pa.dictionary(pa.int32(), pa.string())
    types = {TABLE_COLUMN: pa.string()}
    for table in stored.values():
        types |= dict.fromkeys(table.columns, pa.int64()) | dict.fromkeys(table.texts, text)
    contents = {"path": path, "tables": stored}
    schema = pa.schema(types.items())
    encodings = {name: "DELTA_BINARY_PACKED" for name in ASCENDING if name in types}
    scattered = [name for name in types if name in SCATTERED or name.endswith("_ms")]
    encodings |= dict.fromkeys(scattered, "BYTE_STREAM_SPLIT")
    buffer = BytesIO()
    with parquet.ParquetWriter(
        buffer,
        schema,
        compression="zstd",
        use_dictionary=[name for name in types if name not in encodings],
        column_encoding=encodings,
        dictionary_pagesize_limit=MAX_DICTIONARY_BYTES,
        write_statistics=[TABLE_COLUMN, QUARTER_COLUMN],
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for name, columns in everything.items():
            if stored[name].row_group is None:
                continue
            count = max(map(len, columns.values()))
            arrays = {TABLE_COLUMN: pa.array([name]).take(pa.array(np.zeros(count, np.int8)))}
            for column, values in columns.items():
                arrays[column] = pa.array(values.astype(np.int64))
                if column in stored[name].texts:
                    codes = pa.array(values.astype(np.int32) - 1, mask=values == 0)
                    known = pa.array(texts[name][column], pa.string())
                    arrays[column] = pa.DictionaryArray.from_arrays(codes, known)
            nothing = {type_: pa.nulls(count, type_) for type_ in {*types.values()}}
            rows = [arrays.get(each, nothing[type_]) for each, type_ in types.items()]
            writer.write_table(pa.table(rows, schema=schema), row_group_size=count)
        writer.add_key_value_metadata({CONTENTS: msgspec.json.encode(contents)})
    content = buffer.getbuffer()
    start = len(content) - _footer_bytes(content)
    body, footer = content[:start], content[start:]
    file.writelines((body, _checksum(path, body, footer), footer))


def read_contents(file: IO[bytes], path: str) -> RollupContents:
    """The footer; Damaged when the file is not whole, or that of another path."""
    from pyarrow import parquet  # as above

    content = file.read()
    end = len(content) - _footer_bytes(content)
    start = end - CHECKSUM_BYTES
    if start < 0:
        raise Damaged("too short")
    if content[start:end] != _checksum(path, content[:start], content[end:]):
        raise Damaged("another content")
    metadata = parquet.read_metadata(file)
    contents = msgspec.json.decode(metadata.metadata[CONTENTS], type=_Contents)
    return RollupContents(metadata, contents.tables)


class _Contents(Struct, frozen=True):
    path: str
    tables: Mapping[str, StoredTable]


def read_frame(file: IO[bytes], contents: RollupContents, table: str) -> TableFrame:
    """The frame of a table; KeyError when the rollup has no such table, Damaged as above."""
    quarters, _ = read_column(file, contents, table, QUARTER_COLUMN)
    frame = by_quarter({QUARTER_COLUMN: quarters}, {})
    stored = contents.tables[table]
    columns = frozenset(stored.columns) - {QUARTER_COLUMN}
    return TableFrame(frame.quarters, frame.borders, columns, frozenset(stored.texts))


def read_hashes(file: IO[bytes], contents: RollupContents, column: str) -> Numbers:
    """The hashes of a column of visitors or of sessions; as above."""
    return read_column(file, contents, HASHES[column], HASH_COLUMN)[0]


def read_column(
    file: IO[bytes], contents: RollupContents, table: str, column: str
) -> tuple[Numbers, Sequence[str]]:
    """A column of a table, and its texts in ascending order if it has any; as above."""
    import pyarrow as pa  # as above
    from pyarrow import parquet

    stored = contents.tables[table]
    if column not in stored.columns:
        raise KeyError(column)
    if stored.row_group is None:
        return np.empty(0, np.uint8), ()
    is_text = column in stored.texts
    reader = parquet.ParquetFile(
        file,
        metadata=contents.metadata,
        read_dictionary=[column] if is_text else None,
        page_checksum_verification=True,
    )
    rows = reader.read_row_group(stored.row_group, columns=[column], use_threads=False)
    values = rows.column(0).combine_chunks()
    if not is_text:
        if values.null_count:
            raise Damaged("a column of another table")
        numbers: Numbers = values.to_numpy()
        return numbers if numbers.min(initial=0) < 0 else smallest(numbers), ()
    if not isinstance(values, pa.DictionaryArray):
        raise Damaged("a column without texts")
    codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return _in_order(codes, values.dictionary.to_pylist())


def _in_order(codes: Numbers, texts: Sequence[str]) -> tuple[Numbers, Sequence[str]]:
    """Codes of texts in ascending order, from those in any order; 0 is NULL."""
    ordered = sorted(texts)
    if ordered != texts:
        rank = {text: i for i, text in enumerate(ordered, 1)}
        codes = np.array([0, *map(rank.__getitem__, texts)])[codes]
    return smallest(codes), ordered


def _footer_bytes(content: bytes | memoryview) -> int:
    """The bytes of the footer, with its length and the magic bytes."""
    return TAIL_BYTES + int.from_bytes(content[-TAIL_BYTES : -TAIL_BYTES // 2], "little")


def _checksum(path: str, body: bytes | memoryview, footer: bytes | memoryview) -> bytes:
    checksum = zlib.crc32(footer, zlib.crc32(body, zlib.crc32(path.encode())))
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
