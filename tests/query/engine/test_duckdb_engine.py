"""DuckDB as the engine: hardening, deadline, memory, and columns that no file has yet."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec import structs

from query.engine.deadline import Deadline
from query.engine.duckdb_engine import DuckDBEngine, PoolLimits, connect_hardened
from query.engine.engine import DataFileMissing, Row, Sql
from query.sql.fragment import merge_values
from schemas.errors import QueryTimeout, QueryTooHeavy, ResultTooLarge, Unavailable
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import EVENTS
from tests.query.engine.forbidden_writes import WRITES

BOUNDS = PoolLimits(memory_mb=64, threads=1, concurrency=1, max_queued=1)
CROSS = Sql(
    "SELECT COUNT(*) FROM range(3000000) a, range(3000000) b WHERE hash(a.range + b.range) = 5"
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDBEngine]:
    (tmp_path / "lake").mkdir()
    duckdb_engine = DuckDBEngine("test", str(tmp_path / "lake"), tmp_path / "spill", BOUNDS)
    yield duckdb_engine
    duckdb_engine.close()


def part(path: Path) -> DataFile:
    return DataFile(str(path), "2026-11-10", 1, 1, None, None, None)


def version_of(paths: Sequence[Path]) -> TableVersion:
    return TableVersion(EVENTS, 0, tuple(part(path) for path in paths))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{outside}/secret.csv')",
        "SELECT * FROM read_text('{outside}/secret.csv')",
        "SELECT * FROM read_blob('{lake}/../secret.csv')",
        "SELECT * FROM '{outside}/secret.csv'",
        "SELECT * FROM read_text('{lake}/way_out')",
        "SELECT * FROM glob('{outside}/*')",
        "COPY (SELECT 1) TO '{outside}/made.csv'",
        "ATTACH '{outside}/made.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('https://example.invalid/x.csv')",
        "SET memory_limit = '8GB'",
        "SET threads = 64",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET memory_limit",
    ],
)
def test_a_hardened_connection_neither_writes_nor_reads_elsewhere(
    tmp_path: Path, text: str
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    (lake / "way_out").symlink_to(tmp_path / "secret.csv")
    connection = connect_hardened(str(lake), tmp_path / "spill", BOUNDS)

    with pytest.raises(duckdb.Error):
        connection.execute(text.format(outside=tmp_path, lake=lake)).fetchall()

    assert not (tmp_path / "made.csv").exists()


@pytest.mark.parametrize(
    "text",
    [
        *WRITES,
        "SELECT 1; SELECT 2",
        "CREATE TABLE t (a INTEGER)",
        "IMPORT DATABASE '{lake}'",
        "INSTALL httpfs",
        "FORCE INSTALL httpfs FROM 'https://example.invalid'",
        "LOAD httpfs",
        "SET threads = 64",
        "SET GLOBAL enable_external_access = true",
        "RESET memory_limit",
        "PRAGMA database_list",
        "PRAGMA enable_profiling = 'json'",
        "USE system",
        "DETACH memory",
        "CHECKPOINT",
        "VACUUM",
        "CALL pragma_version()",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "CREATE SECRET s (TYPE s3)",
        "BEGIN TRANSACTION",
    ],
)
def test_only_one_select_is_ever_run(engine: DuckDBEngine, tmp_path: Path, text: str) -> None:
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(ValueError, match="single SELECT"):
        asyncio.run(engine.rows(Sql(text.format(lake=tmp_path / "lake")), 1))

    assert sorted(tmp_path.rglob("*")) == before


def test_rows_beyond_what_may_be_held_are_refused_while_they_are_fetched(tmp_path: Path) -> None:
    bounds = structs.replace(BOUNDS, rows_bytes=1_000_000)
    engine = DuckDBEngine("test", str(tmp_path), tmp_path / "spill", bounds)
    long = "SELECT repeat('x', {}) AS text, range AS n FROM range({})"

    with pytest.raises(ResultTooLarge):  # 2,000 texts of 1,000 letters are two million bytes
        asyncio.run(engine.rows(Sql(long.format(1_000, 2_000)), 5))
    with pytest.raises(ResultTooLarge):  # 10,000 rows of two values, of 144 bytes at least each
        asyncio.run(engine.rows(Sql(long.format(1, 10_000)), 5))
    fitting = asyncio.run(engine.rows(Sql(long.format(100, 2_000)), 5))

    assert fitting == [("x" * 100, n) for n in range(2_000)]
    engine.close()


def test_columns_of_many_files_are_no_rows_of_an_answer(tmp_path: Path) -> None:
    bounds = structs.replace(BOUNDS, rows_bytes=1_000)
    engine = DuckDBEngine("test", str(tmp_path), tmp_path / "spill", bounds)
    files = [tmp_path / f"{n}.parquet" for n in range(600)]
    duckdb.execute(f"COPY (SELECT 'a' AS name, 'DE' AS country) TO '{files[0]}'")
    for file in files[1:]:
        file.hardlink_to(files[0])

    async def counted() -> list[Row]:
        columns = [column for column in EVENTS.columns if column.name in ("name", "country")]
        relation = await engine.relation(version_of(files), columns)
        return await engine.rows(Sql(f"SELECT COUNT(*) FROM {relation.text}", relation.values), 5)

    assert asyncio.run(counted()) == [(600,)]
    engine.close()


def test_a_question_that_nobody_waits_for_any_more_is_interrupted(engine: DuckDBEngine) -> None:
    async def scene() -> list[Row]:
        running_query = asyncio.create_task(engine.rows(CROSS, 60))
        await asyncio.sleep(0.1)
        running_query.cancel()
        await asyncio.wait([running_query])
        return await engine.rows(Sql("SELECT 1"), 5)  # in the one thread that there is

    assert asyncio.run(scene()) == [(1,)]


def test_batches_of_large_rows_have_fewer_of_them(engine: DuckDBEngine) -> None:
    async def sizes(letters: int) -> list[int]:
        text = Sql(f"SELECT repeat('x', {letters}) FROM range(9000)")
        return [len(rows) async for rows in engine.batches(text, 5, 4_000)]

    assert asyncio.run(sizes(10)) == [4_000, 4_000, 1_000]
    # 4 MiB are reached by the 419th row of 10,104 bytes; 500 are looked at together.
    assert asyncio.run(sizes(10_000)) == [500] * 18


def test_a_question_beyond_its_deadline_is_interrupted(engine: DuckDBEngine) -> None:
    with pytest.raises(QueryTimeout):
        asyncio.run(engine.rows(CROSS, 0.2))

    assert asyncio.run(engine.rows(Sql("SELECT $x", {"x": 7}), 1)) == [(7,)]


def test_a_deadline_that_strikes_an_ended_question_does_no_harm() -> None:
    cursor = duckdb.connect().cursor()

    async def scene() -> list[dict[str, Any]]:
        faults: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(context))
        deadline = Deadline(cursor, loop.time())
        cursor.close()
        deadline.start(loop)
        await asyncio.sleep(0.01)
        deadline.stop()
        assert deadline.passed
        return faults

    assert asyncio.run(scene()) == []


def test_a_question_that_waits_too_long_is_overdue_too(engine: DuckDBEngine) -> None:
    async def both() -> list[object]:
        return list(
            await asyncio.gather(
                engine.rows(CROSS, 0.6), engine.rows(Sql("SELECT 1"), 0.1), return_exceptions=True
            )
        )

    assert [type(outcome) for outcome in asyncio.run(both())] == [QueryTimeout, QueryTimeout]


def test_a_question_beyond_the_queue_is_turned_away(engine: DuckDBEngine) -> None:
    async def three() -> list[object]:
        running_query = [engine.rows(CROSS, 0.3) for _ in range(3)]
        return list(await asyncio.gather(*running_query, return_exceptions=True))

    assert [type(outcome) for outcome in asyncio.run(three())] == [
        QueryTimeout,
        QueryTimeout,
        Unavailable,
    ]


def test_a_question_that_needs_too_much_memory_is_refused(engine: DuckDBEngine) -> None:
    heavy = Sql("SELECT list(repeat(range::VARCHAR, 100)) FROM range(5000000)")

    with pytest.raises(QueryTooHeavy):
        asyncio.run(engine.rows(heavy, 30))


def test_a_column_that_only_some_files_have_is_null_in_the_others(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    old, new = tmp_path / "lake" / "old.parquet", tmp_path / "lake" / "new.parquet"
    duckdb.execute(f"COPY (SELECT 'a' AS name) TO '{old}'")
    duckdb.execute(f"COPY (SELECT 'DE' AS country, 'b' AS name) TO '{new}'")

    assert read(engine, [old, new], "country", "name") == [(None, "a"), ("DE", "b")]
    assert read(engine, [new, old], "country", "name") == [(None, "a"), ("DE", "b")]


def test_a_column_that_no_file_has_is_null_of_its_type(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    old = tmp_path / "lake" / "old.parquet"
    duckdb.execute(f"COPY (SELECT 'a' AS name) TO '{old}'")

    assert read(engine, [old], "name", "time_on_page", "is_bot") == [("a", None, None)]
    assert types(engine, [old], "time_on_page", "is_bot") == [("DECIMAL(18,4)", "BOOLEAN")]


def test_no_file_at_all_is_an_empty_relation_with_types(engine: DuckDBEngine) -> None:
    assert read(engine, [], "name", "ts") == []


def test_a_file_that_is_gone_asks_to_pin_anew(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(DataFileMissing):
        read(engine, [tmp_path / "lake" / "gone.parquet"], "name")


def test_values_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"\['a'\]"):
        merge_values({"a": 1}, {"a": 2})


def read(engine: DuckDBEngine, files: list[Path], *names: str) -> list[tuple[object, ...]]:
    return _asked(engine, files, names, f"SELECT {', '.join(names)} FROM {{}} AS r ORDER BY name")


def types(engine: DuckDBEngine, files: list[Path], *names: str) -> list[tuple[object, ...]]:
    kinds = ", ".join(f"typeof({name})" for name in names)
    return _asked(engine, files, names, f"SELECT {kinds} FROM {{}} AS r")


def _asked(
    engine: DuckDBEngine, files: list[Path], names: tuple[str, ...], text: str
) -> list[tuple[object, ...]]:
    async def running_query() -> list[tuple[object, ...]]:
        columns = [column for column in EVENTS.columns if column.name in names]
        relation = await engine.relation(version_of(files), columns)
        return await engine.rows(Sql(text.format(relation.text), relation.values), 5)

    return asyncio.run(running_query())
