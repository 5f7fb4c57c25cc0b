"""ClickHouse as engine of the query service, over the data files of a local lake."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from query.engine.engine import Row, Sql
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column, ColumnType
from tests.bench.clickhouse.server import ClickHouse
from tests.conformance.clickhouse.dialect import ClickHouseDialect
from tests.conformance.clickhouse.literals import bind, literal

TYPES: Mapping[ColumnType, str] = {
    ColumnType.STRING: "String",
    ColumnType.LONG: "Int64",
    ColumnType.INTEGER: "Int32",
    ColumnType.BOOLEAN: "Bool",
    ColumnType.DATE: "Date32",
    ColumnType.DECIMAL: "Decimal(18, 4)",
    ColumnType.TIMESTAMP: "DateTime64(3, 'UTC')",
}
SETTINGS = {
    "join_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "prefer_column_name_to_alias": 1,
    "cast_keep_nullable": 1,
    "union_default_mode": "'DISTINCT'",
    "session_timezone": "'UTC'",
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_decimals": 1,
    "output_format_json_quote_denormals": 1,
}
"""What the standard says where ClickHouse does something else unless it is told."""


class ClickHouseEngine:
    """The data files that a query has pinned."""

    name, dialect = "clickhouse", ClickHouseDialect

    def __init__(self, running: ClickHouse) -> None:
        self._running = running
        for name, value in SETTINGS.items():
            running.execute(f"SET {name} = {value}")
        self.statements: list[str] = []

    def for_tenant(self, tenant: str) -> "ClickHouseEngine":
        return self

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        structure = ", ".join(f"{c.name} Nullable({TYPES[c.type]})" for c in columns)
        names = ", ".join(column.name for column in columns)
        if not version.data_files:
            return Sql(f"(SELECT {names} FROM null({literal(structure)}))")
        paths = [Path(each.path) for each in version.data_files]
        files = ",".join(path.name for path in paths)
        pattern = f"{paths[0].parents[1]}/*/{{{files}}}"
        return Sql(f"(SELECT {names} FROM file('{pattern}', Parquet, {literal(structure)}))")

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        return ()

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        names = ", ".join(columns)
        return (
            f"SELECT {names}, pair.1 AS property_key,"
            " IF(startsWith(pair.2, '\"'), JSONExtractString(concat('[', pair.2, ']'), 1), pair.2)"
            " AS property_value"
            f" FROM {relation} ARRAY JOIN"
            " JSONExtractKeysAndValuesRaw(ifNull(properties, '{}')) AS pair"
            " WHERE pair.2 <> 'null'"
        )

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        text = bind(sql.text, sql.values)
        self.statements.append(text)
        table = self._running.execute(text)
        converters = [converter(column["type"]) for column in table.columns]
        return [
            tuple(None if v is None else c(v) for c, v in zip(converters, row, strict=True))
            for row in table.rows
        ]

    async def batches(
        self, sql: Sql, seconds: float, max_rows: int
    ) -> AsyncGenerator[list[Row], None]:
        rows = await self.rows(sql, seconds)
        for start in range(0, len(rows), max_rows):
            yield rows[start : start + max_rows]


def converter(type_: str) -> Callable[[Any], Any]:
    """How values of a type in JSON become Python values."""
    for wrapper in ("Nullable(", "LowCardinality("):
        if type_.startswith(wrapper):
            return converter(type_.removeprefix(wrapper)[:-1])
    if type_.startswith("DateTime64"):
        return lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC)
    if type_.startswith("Date"):
        return date.fromisoformat
    if type_.startswith("Decimal"):
        return Decimal
    if type_.startswith("Float"):
        return float
    if type_.startswith(("Int", "UInt")):
        return int
    return lambda value: value
