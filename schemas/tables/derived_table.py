"""DerivedTable: a table with one data file for each data file of another, computed from it alone.

Data files never change and their names are not used again. What was computed from one is right for
as long as that one is read, whatever else is stored, compacted or removed. Where a derived data
file is missing, its source is read instead.
"""

import hashlib
import re

from msgspec import Struct

from schemas.tables.column import Table

SOURCE_ROWS = "source_rows"
"""The relation that the SQL reads: the rows of one data file, with all columns of its table."""
KEY_LENGTH = 32

_UNIQUE_NAME = re.compile(r"([0-9a-f]{32})-[0-9a-f]{32}\.parquet$")


class DerivedTable(Struct, frozen=True):
    """A table, the table that it is computed from, and the SQL that computes it."""

    table: Table
    source: Table
    sql: str
    """A SELECT of the table's columns without the day, over `source_rows`, in DuckDB's SQL."""
    portion_column: str
    """A number in rows of the source: each row of the table is of source rows with one value."""

    @property
    def definition(self) -> str:
        """Eight hex digits of columns and SQL; data files of another definition are outdated."""
        columns = [(column.name, column.type.value) for column in self.table.columns]
        text = f"{columns} {self.table.sort_order} {' '.join(self.sql.split())}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def source_key(path: str) -> str:
    """What the name of a derived data file repeats of the name of its source."""
    name = path.rpartition("/")[2]
    unique = _UNIQUE_NAME.search(name)
    return unique[1] if unique else hashlib.sha256(name.encode()).hexdigest()[:KEY_LENGTH]


def derived_file_path(day: str, definition: str, key: str, checksum: str) -> str:
    """The path of a derived data file, relative to the root of its table."""
    return f"day={day}/{definition}-{key}-{checksum}.parquet"


def derived_key(path: str, definition: str) -> str | None:
    """The key of the source of a derived data file; None for another definition."""
    parts = path.rpartition("/")[2].split("-")
    return parts[1] if len(parts) == 3 and parts[0] == definition else None
