"""The columns of `schemas.tables` as Delta schema and as Arrow schema.

Signed integers, DECIMAL instead of floating point and microseconds in UTC: the types that every
engine reads alike ("Tables" in schemas/REFERENCE.md).
"""

from functools import cache

import pyarrow as pa
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from schemas.tables import ColumnType, Table

DAY_COLUMN = "day"

_ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.LONG: pa.int64(),
    ColumnType.INTEGER: pa.int32(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.DECIMAL: pa.decimal128(18, 4),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


@cache
def delta_schema(table: Table) -> Schema:
    """The table's columns in its Delta log; all nullable, with the partition column."""
    return Schema([Field(c.name, PrimitiveType(c.type.value)) for c in table.columns])


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a data file: all but the partition column, which is the folder's name."""
    return pa.schema([(c.name, _ARROW[c.type]) for c in table.columns if c.name != DAY_COLUMN])
