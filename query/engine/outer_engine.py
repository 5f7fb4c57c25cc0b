"""OuterEngine: an engine before another one, which does all that the first does not change."""

from collections.abc import AsyncGenerator, Sequence

from query.engine.engine import Engine, Row, Sql
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column


class OuterEngine:
    """The methods of `Engine`, each that of the inner engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.name
        self.dialect = engine.dialect

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        """That of the engine."""
        return await self._engine.relation(version, columns)

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        """That of the engine."""
        return self._engine.intact(data_files)

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        """That of the engine."""
        return self._engine.property_entries(relation, columns)

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        """Those of the engine."""
        return await self._engine.rows(sql, seconds)

    def batches(self, sql: Sql, seconds: float, max_rows: int) -> AsyncGenerator[list[Row], None]:
        """Those of the engine."""
        return self._engine.batches(sql, seconds, max_rows)
