"""Trino as engine: statements of pinned versions, errors of the contract, limits of rows."""

import asyncio
import logging
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isnan

import pytest
from sqlglot import exp, parse_one

from query.engine.engine import DataFileMissing, Row, Sql
from query.engine.trino.address import parse_address
from query.engine.trino.client import Page, TrinoClient, TrinoColumn
from query.engine.trino.dialect import TrinoDialect
from query.engine.trino.engine import TRINO_TYPES, TrinoEngine, rows_of
from query.standard.query_types import QUERY_TYPES
from schemas.errors import ApiError, QueryTimeout, QueryTooHeavy, ResultTooLarge, Unavailable
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import EVENTS, ColumnType
from tests.installation import free_port
from tests.query.engine.trino.coordinator import Answer, Coordinator, coordinator
from tests.query.engine.trino.statements import STORED, Texts, all_statements, stored_text

COLUMNS = [{"name": "name", "type": "varchar"}, {"name": "n", "type": "bigint"}]
ONE = Sql("SELECT 1")
NAMES = [column for column in EVENTS.columns if column.name in ("name", "ts")]


@pytest.fixture(scope="module")
def statements() -> Iterator[Texts]:
    """The statements, and no warning that anything of them cannot be written for Trino."""
    logger, warnings = logging.getLogger("sqlglot"), logging.Handler(logging.WARNING)
    warnings.emit = lambda record: pytest.fail(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(warnings)
    yield all_statements()
    logger.removeHandler(warnings)


def engine_of(played: Coordinator, rows_bytes: int = 1_000_000) -> TrinoEngine:
    return TrinoEngine(TrinoClient(parse_address(played.address)), rows_bytes)


def rows(engine: TrinoEngine, sql: Sql = ONE, seconds: float = 10.0) -> list[Row]:
    return asyncio.run(engine.rows(sql, seconds))


def file_of(day: str) -> DataFile:
    return DataFile(f"/lake/events/day={day}/a.parquet", day, 1, 1, None, None, None)


def test_every_column_type_is_known_to_the_engine() -> None:
    assert set(TRINO_TYPES) == set(ColumnType)


def test_a_relation_is_the_pinned_version_between_the_days_of_its_files() -> None:
    version = TableVersion(EVENTS, 7, (file_of("2026-11-02"), file_of("2026-11-01")))
    with coordinator() as played:
        relation = asyncio.run(engine_of(played).relation(version, NAMES))

    assert relation == Sql(
        "(SELECT ts, name FROM events FOR VERSION AS OF 7\n"
        " WHERE day BETWEEN DATE '2026-11-01' AND DATE '2026-11-02')"
    )


def test_nothing_is_read_of_a_version_without_files() -> None:
    with coordinator() as played:
        relation = asyncio.run(engine_of(played).relation(TableVersion(EVENTS, 7, ()), NAMES))

    assert relation == Sql(
        "(SELECT CAST(NULL AS TIMESTAMP(3) WITH TIME ZONE) AS ts, CAST(NULL AS VARCHAR) AS name"
        " WHERE FALSE)"
    )


def test_values_are_bound_and_rows_converted() -> None:
    page = {"columns": COLUMNS, "data": [["a", 1], [None, 2]]}
    with coordinator({}, page, {}) as played:
        found = rows(engine_of(played), Sql("SELECT $name, 1", {"name": "o'hara"}))

    assert found == [("a", 1), (None, 2)]
    assert played.statements == ["SELECT 'o''hara', 1"]


def test_an_organization_is_a_tag_of_its_statements() -> None:
    with coordinator() as played:
        rows(engine_of(played).for_tenant("acme"))

    assert played.headers[0]["X-Trino-Client-Tags"] == "organization:acme"


def test_batches_have_no_more_rows_than_asked_for() -> None:
    page = {"columns": COLUMNS, "data": [["a", n] for n in range(5)]}

    async def sizes(engine: TrinoEngine) -> list[int]:
        return [len(batch) async for batch in engine.batches(Sql("SELECT 1"), 10.0, 2)]

    with coordinator(page, page) as played:
        assert asyncio.run(sizes(engine_of(played))) == [2, 2, 1, 2, 2, 1]


def failed(name: str, kind: str = "EXTERNAL") -> Answer:
    return {"error": {"message": "secret path", "errorName": name, "errorType": kind}}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failed("EXCEEDED_TIME_LIMIT"), QueryTimeout),
        (failed("QUERY_QUEUE_FULL"), Unavailable),
        (failed("EXCEEDED_LOCAL_MEMORY_LIMIT", "INSUFFICIENT_RESOURCES"), QueryTooHeavy),
        (failed("TABLE_NOT_FOUND", "USER_ERROR"), Unavailable),
        (failed("GENERIC_INTERNAL_ERROR", "INTERNAL_ERROR"), Unavailable),
        (failed("QUERY_TEXT_TOO_LARGE", "USER_ERROR"), QueryTooHeavy),
        (failed("QUERY_HAS_TOO_MANY_STAGES", "USER_ERROR"), QueryTooHeavy),
        (500, Unavailable),
        ({"columns": COLUMNS, "data": [["x" * 2_000, 1]]}, ResultTooLarge),
    ],
)
def test_an_error_of_trino_is_one_of_the_contract(answer: Answer, error: type[ApiError]) -> None:
    with coordinator(answer) as played, pytest.raises(error) as raised:
        rows(engine_of(played, rows_bytes=1_000))

    assert "secret" not in raised.value.message


def test_a_vacuumed_file_makes_the_query_pin_a_newer_version() -> None:
    with (
        coordinator(failed("DELTA_LAKE_FILESYSTEM_ERROR")) as played,
        pytest.raises(DataFileMissing),
    ):
        rows(engine_of(played))


def test_a_coordinator_that_is_away_makes_the_query_unavailable() -> None:
    address = parse_address(f"trino://ana@127.0.0.1:{free_port()}/lake.tidemark")

    with pytest.raises(Unavailable, match="query engine cannot be reached"):
        rows(TrinoEngine(TrinoClient(address), 1_000))


def test_a_silent_coordinator_is_given_up_and_told() -> None:
    with coordinator({}, {}) as played:
        played.silent.set()
        with pytest.raises(QueryTimeout):
            rows(engine_of(played), seconds=0.3)

        assert played.cancelled.wait(60.0)


def test_every_query_type_has_a_statement_that_parses(statements: Texts) -> None:
    assert statements.keys() >= QUERY_TYPES.keys()
    for name, texts in statements.items():
        assert texts, name
        for text in texts:
            assert isinstance(parse_one(text, dialect=TrinoDialect), exp.Select), name
            assert not re.search(r"\$\w", text), name


def test_the_stored_statements_are_those_that_are_made(statements: Texts) -> None:
    assert stored_text(statements) == STORED.read_text(), "run `make docs`"


def page(types: list[str], *rows: list[object]) -> Page:
    return Page([TrinoColumn(f"c{i}", type_) for i, type_ in enumerate(types)], rows, 0)


def test_values_are_those_that_duckdb_gives() -> None:
    types = ["bigint", "varchar(3)", "decimal(38,0)", "decimal(18,4)", "date", "boolean"]
    types.append("timestamp(3) with time zone")
    row = [7, "abc", "12", "0.5000", "2026-11-30", True, "2026-11-30 00:53:20.125 UTC"]

    assert rows_of(page(types, row, [None] * 7)) == [
        (
            *(7, "abc", 12, Decimal("0.5"), date(2026, 11, 30), True),
            datetime(2026, 11, 30, 0, 53, 20, 125000, UTC),
        ),
        (None,) * 7,
    ]


def test_numbers_that_json_does_not_have_are_text() -> None:
    [(value, plain)] = rows_of(page(["double", "double"], ["NaN", 1.5]))

    assert isnan(value)
    assert plain == 1.5
