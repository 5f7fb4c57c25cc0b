"""Engine: the interface through which queries run SQL; DuckDB implements it over the lake.

Callers write one SQL dialect and ask the engine for what differs: the relation over a list of data
files, an instant as Unix milliseconds, and the entries of the JSON properties.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from schemas.lake.delta_table import DataFile
from schemas.tables import Column

Row = tuple[Any, ...]


class DataFileMissing(Exception):
    """A data file of the pinned version is gone: it was compacted away; pin a newer version."""


class Sql(Struct, frozen=True):
    """SQL text and its values by name. Text is ours; values are the caller's and always bound."""

    text: str
    values: Mapping[str, object] = {}


class Engine(Protocol):
    """Runs SQL over data files of the lake."""

    dialect: str

    async def relation(self, data_files: Sequence[DataFile], columns: Sequence[Column]) -> Sql:
        """The FROM clause for these columns of these data files."""

    def unix_ms(self, column: str) -> str:
        """The expression for an instant column as Unix milliseconds."""

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        """A SELECT of these columns and `property_key`, `property_value` (text) for each property
        in the JSON objects of `properties`; those that are null are left out.
        """

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        """All rows of one SELECT; QueryTimeout after `seconds`, including the wait for a thread."""

    def batches(self, sql: Sql, seconds: float, max_rows: int) -> AsyncGenerator[list[Row], None]:
        """The rows in batches, never all in memory; each batch takes at most `seconds`.

        Close it (`contextlib.aclosing`) when stopping early, so that the engine is free again.
        """


def merge_values(*mappings: Mapping[str, object]) -> dict[str, object]:
    """The values of several SQL fragments as one mapping; a name used twice is a bug."""
    together: dict[str, object] = {}
    for values in mappings:
        if clash := together.keys() & values.keys():
            raise ValueError(f"value names used twice: {sorted(clash)}")
        together |= values
    return together
