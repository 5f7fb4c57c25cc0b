"""Engine: the seam behind which SQL is run; DuckDB is one, others read the same lake.

Everything above it writes one dialect and asks for what engines say differently: the relation that
a list of parts makes, and an instant as Unix milliseconds.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from schemas.lake.delta_table import DataFile
from schemas.tables import Column

Row = tuple[Any, ...]


class DataFileMissing(Exception):
    """A part of the pinned version is not there any more: it was compacted away; pin anew."""


class Sql(Struct, frozen=True):
    """SQL text and its values by name. Text is ours; values are the caller's and always bound."""

    text: str
    values: Mapping[str, object] = {}


class Engine(Protocol):
    """What runs a question."""

    dialect: str

    async def relation(self, parts: Sequence[DataFile], columns: Sequence[Column]) -> Sql:
        """What follows FROM to read exactly these columns of exactly these parts."""

    def unix_ms(self, column: str) -> str:
        """The expression for an instant column as Unix milliseconds."""

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        """A SELECT of these columns and `property_key`, `property_value` (text) for each property
        in the JSON objects of `properties`; those that are null are left out.
        """

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        """All rows of one SELECT; Overdue after `seconds`, waiting for a free cursor included."""

    def batches(self, sql: Sql, seconds: float, most: int) -> AsyncGenerator[list[Row], None]:
        """The same a few rows at a time, never all in memory; each wait is at most `seconds`.

        Who stops early closes it (`contextlib.aclosing`), and the engine is free again.
        """


def merge_values(*mappings: Mapping[str, object]) -> dict[str, object]:
    """The values of several pieces of SQL as one; a name used twice is a mistake of ours."""
    together: dict[str, object] = {}
    for values in mappings:
        if clash := together.keys() & values.keys():
            raise ValueError(f"value names used twice: {sorted(clash)}")
        together |= values
    return together
