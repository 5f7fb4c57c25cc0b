"""Base of engines that wrap another one: every method is passed on unless it is overridden."""

from collections.abc import AsyncGenerator, Sequence

from query.engine.engine import Engine, Row, Sql
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column


class OuterEngine:
    """The methods of `Engine`, passed on to the inner engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.name
        self.dialect = engine.dialect

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        return await self._engine.relation(version, columns)

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        return self._engine.intact(data_files)

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        return self._engine.property_entries(relation, columns)

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        return await self._engine.rows(sql, seconds)

    def batches(self, sql: Sql, seconds: float, max_rows: int) -> AsyncGenerator[list[Row], None]:
        return self._engine.batches(sql, seconds, max_rows)
