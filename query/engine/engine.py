"""Engine: the interface through which queries run SQL; DuckDB implements it over the lake.

Callers describe a statement in portable SQL (`query/sql/`); it is rendered in the dialect of the
engine. Only the relation over a list of data files and the entries of the JSON properties are
written by the engine itself.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from sqlglot import Dialect

from query.engine.column_rows import ColumnRows
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column

Row = tuple[Any, ...]


class DataFileMissing(Exception):
    """A data file of the pinned version was replaced and vacuumed; pin a newer version."""


class Sql(Struct, frozen=True):
    """SQL text in the dialect of an engine, and its values by name, which are always bound."""

    text: str
    values: Mapping[str, object] = {}

    @property
    def data_files(self) -> list[str]:
        """Local paths of the data files that the statement reads."""
        lists = [value for value in self.values.values() if isinstance(value, list)]
        paths = [each for values in lists for each in values if isinstance(each, str)]
        return [path for path in paths if path.endswith(".parquet")]


class Engine(Protocol):
    """Runs SQL over data files of the lake."""

    @property
    def name(self) -> str:
        """Its name in responses."""

    @property
    def dialect(self) -> type[Dialect]:
        """The dialect in which statements are rendered for it."""

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        """The relation after FROM that reads these columns of a version's data files.

        The version lists only the data files that are needed.
        """

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        """The data files that are not known to be damaged."""

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


@runtime_checkable
class ColumnEngine(Engine, Protocol):
    """An engine that gives rows as columns as well."""

    @property
    def gives_columns(self) -> bool:
        """Whether it does, where it stands for another engine."""

    async def table(self, sql: Sql, seconds: float) -> ColumnRows:
        """All rows of one SELECT as columns; the statement itself limits them."""
