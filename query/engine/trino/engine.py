"""Trino as engine: it reads the version of each table that the query has pinned.

Read-only: only SELECT statements are made, and the user of the address needs no other rights.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from query.engine.bounded_fetch import ROW_BYTES, VALUE_BYTES, too_large
from query.engine.deadline import timeout_error
from query.engine.engine import DataFileMissing, Row, Sql
from query.engine.trino.address import parse_address
from query.engine.trino.client import Page, TrinoClient, TrinoError, TrinoUnreachable
from query.engine.trino.dialect import TrinoDialect
from query.engine.trino.literals import bind
from schemas.errors import QueryTooHeavy, Unavailable
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import Column, ColumnType

log = logging.getLogger(__name__)

TRINO_TYPES: Mapping[ColumnType, str] = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18, 4)",
    ColumnType.TIMESTAMP: "TIMESTAMP(3) WITH TIME ZONE",
}
TIME_LIMITS = ("EXCEEDED_TIME_LIMIT", "EXCEEDED_CPU_LIMIT")
FULL = ("QUERY_QUEUE_FULL", "SERVER_STARTING_UP", "SERVER_SHUTTING_DOWN", "NO_NODES_AVAILABLE")
MISSING = ("DELTA_LAKE_FILESYSTEM_ERROR", "HIVE_FILE_NOT_FOUND", "DELTA_LAKE_INVALID_TABLE")
"""Trino's error codes after vacuum deleted a data file or the version of the table."""
UNREGISTERED = ("CATALOG_NOT_FOUND", "SCHEMA_NOT_FOUND", "TABLE_NOT_FOUND")
TOO_COMPLEX = ("QUERY_TEXT_TOO_LARGE", "QUERY_HAS_TOO_MANY_STAGES")
OF_THE_ENGINE = ("EXTERNAL", "INTERNAL_ERROR")
"""Kinds of errors that are neither the statement's nor a limit's."""
FAILED = "The query engine failed; retry"
UNREACHABLE = "The query engine cannot be reached right now; retry"


def trino_engine(address: str, rows_bytes: int) -> "TrinoEngine":
    """The engine at an address."""
    return TrinoEngine(TrinoClient(parse_address(address)), rows_bytes)


class TrinoEngine:
    """The tables of one schema of one coordinator."""

    name, dialect = "trino", TrinoDialect

    def __init__(self, client: TrinoClient, rows_bytes: int, tenant: str | None = None) -> None:
        self._client = client
        self._rows_bytes = rows_bytes
        self._tenant = tenant

    def for_tenant(self, tenant: str) -> "TrinoEngine":
        """The engine whose statements name the organization, by which resource groups select."""
        return TrinoEngine(self._client, self._rows_bytes, tenant)

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        """The table at its version, between the days of the data files."""
        if not version.data_files:
            nulls = ", ".join(
                f"CAST(NULL AS {TRINO_TYPES[column.type]}) AS {column.name}" for column in columns
            )
            return Sql(f"(SELECT {nulls} WHERE FALSE)")
        names = ", ".join(column.name for column in columns)
        days = [data_file.day for data_file in version.data_files]
        return Sql(
            f"(SELECT {names} FROM {version.table.name} FOR VERSION AS OF {version.number}\n"  # noqa: S608
            f" WHERE day BETWEEN DATE '{min(days)}' AND DATE '{max(days)}')"
        )

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:  # noqa: ARG002
        """None: only whole tables are read, no files that were prepared from others."""
        return ()

    def property_entries(self, relation: str, columns: Sequence[str]) -> str:
        names = ", ".join(columns)
        return (
            f"SELECT {names}, property_key,\n"  # noqa: S608 - every name is ours
            "       COALESCE(JSON_EXTRACT_SCALAR(property_json, '$'),"
            " JSON_FORMAT(property_json)) AS property_value\n"
            f"  FROM {relation} CROSS JOIN UNNEST("
            "TRY_CAST(TRY(JSON_PARSE(properties)) AS MAP(VARCHAR, JSON)))"
            " AS pairs(property_key, property_json)\n"
            " WHERE JSON_FORMAT(property_json) <> 'null'"
        )

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        rows: list[Row] = []
        size = 0
        async with aclosing(self._pages(sql, seconds)) as pages:
            async for page, page_bytes in pages:
                size += page_bytes
                if size > self._rows_bytes:
                    raise too_large()
                rows += page
        return rows

    async def batches(
        self, sql: Sql, seconds: float, max_rows: int
    ) -> AsyncGenerator[list[Row], None]:
        async with aclosing(self._pages(sql, seconds)) as pages:
            async for page, _ in pages:
                for start in range(0, len(page), max_rows):
                    yield page[start : start + max_rows]

    async def _pages(self, sql: Sql, seconds: float) -> AsyncGenerator[tuple[list[Row], int], None]:
        """The rows of each page, and how much memory they take."""
        text = bind(sql.text, sql.values)
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        with _translated_errors():
            async with aclosing(self._client.pages(text, seconds, self._tenant)) as pages:
                while True:
                    async with asyncio.timeout_at(ends):
                        page = await anext(pages, None)
                    if page is None:
                        return
                    fixed = ROW_BYTES + VALUE_BYTES * len(page.columns)
                    yield rows_of(page), page.size + fixed * len(page.rows)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translate what Trino says into errors for the caller."""
    try:
        yield
    except TimeoutError:
        raise timeout_error() from None
    except TrinoUnreachable as error:
        log.error("query engine unreachable", extra={"why": str(error)})
        raise Unavailable(UNREACHABLE) from None
    except TrinoError as error:
        if error.name in TIME_LIMITS:
            raise timeout_error() from None
        if error.name in FULL:
            raise Unavailable("Too many concurrent queries; retry in a moment", 1) from None
        if error.name in MISSING:
            raise DataFileMissing from error
        if error.kind in OF_THE_ENGINE or error.name in UNREGISTERED:
            fix = "tidemark engine register" if error.name in UNREGISTERED else ""
            log.error("query engine failed", extra={"why": str(error), "fix": fix})
            raise Unavailable(FAILED) from None
        if error.kind == "INSUFFICIENT_RESOURCES" or error.name in TOO_COMPLEX:
            raise QueryTooHeavy(
                "The query exceeds the memory limit; use a shorter time range, "
                "more filters or fewer groups"
            ) from None
        raise


Convert = Callable[[Any], Any]


def rows_of(page: Page) -> list[Row]:
    """The rows of a page."""
    converters = [(i, c) for i, column in enumerate(page.columns) if (c := converter(column.type))]
    if not converters:
        return [tuple(row) for row in page.rows]
    return [_converted(row, converters) for row in page.rows]


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Convert]]) -> Row:
    values = list(row)
    for i, convert in converters:
        if values[i] is not None:
            values[i] = convert(values[i])
    return tuple(values)


def converter(type_: str) -> Convert | None:
    """How values of a type become Python values; None for those that are such values already."""
    name, _, parameters = type_.partition("(")
    if name == "decimal":
        scale = parameters.rstrip(")").split(",")[-1].strip()
        return int if scale == "0" else Decimal
    if name in ("double", "real"):
        return float  # NaN and infinities are text
    if name == "date":
        return date.fromisoformat
    return _instant if type_.endswith("with time zone") else None


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix(" UTC")).replace(tzinfo=UTC)
