"""Caches of results and columns in memory, bounded by their bytes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.engine.hardening import PoolLimits
from query.prepared import result_cache
from query.prepared.result_cache import (
    ENTRY_BYTES,
    ByteCache,
    CachingEngine,
    bytes_of,
    statement_digest,
)


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 4000 - ENTRY_BYTES)
    cache.put("b", 2, 4000 - ENTRY_BYTES)
    assert cache.get("a") == 1

    cache.put("c", 3, 4000 - ENTRY_BYTES)

    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert cache.size == 8_000


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 9000 - ENTRY_BYTES)
    cache.put("a", 2, 1000 - ENTRY_BYTES)

    assert (cache.get("a"), cache.size) == (2, 1_000)


def test_what_alone_exceeds_the_limit_is_not_kept() -> None:
    cache = ByteCache(10_000)
    cache.put("a", 1, 4000 - ENTRY_BYTES)
    cache.put("b", 2, 10100 - ENTRY_BYTES)

    assert (cache.get("a"), cache.get("b"), cache.size) == (1, None, 4_000)


RANDOM = Sql("SELECT random() AS x, $n AS n", {"n": 1})
"""Another row each time that it runs."""


@contextmanager
def engine_in(folder: Path) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine("standard", str(folder), folder / "spill", PoolLimits(64, 1))
    try:
        yield engine
    finally:
        engine.close()


def rows(engine: CachingEngine, sql: Sql) -> list[Row]:
    return asyncio.run(engine.rows(sql, 10.0))


def test_the_same_text_with_the_same_values_does_not_run_again(tmp_path: Path) -> None:
    memory = ByteCache(10_000)
    with engine_in(tmp_path) as engine:
        first = rows(CachingEngine(engine, memory), RANDOM)

        assert rows(CachingEngine(engine, memory), RANDOM) == first
        assert memory.size == ENTRY_BYTES + bytes_of(first)
        other = rows(CachingEngine(engine, memory), Sql(RANDOM.text, {"n": 2}))
        assert other[0][0] != first[0][0]
        assert rows(CachingEngine(engine, ByteCache(10_000)), RANDOM) != first


def test_rows_of_too_many_bytes_are_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_cache, "MOST_BYTES", 100)
    memory = ByteCache(10_000)
    with engine_in(tmp_path) as engine:
        remembering = CachingEngine(engine, memory)

        assert rows(remembering, RANDOM) != rows(remembering, RANDOM)
    assert memory.size == 0


def test_all_else_is_that_of_the_engine(tmp_path: Path) -> None:
    with engine_in(tmp_path) as engine:
        remembering = CachingEngine(engine, ByteCache(10_000))

        async def batches() -> list[list[Row]]:
            return [rows async for rows in remembering.batches(Sql("SELECT 1 AS x"), 10.0, 5)]

        assert (remembering.name, remembering.dialect) == (engine.name, engine.dialect)
        assert remembering.property_entries("scoped", ["ms"]) == engine.property_entries(
            "scoped", ["ms"]
        )
        assert remembering.intact([]) == []
        assert asyncio.run(batches()) == [[(1,)]]


def test_a_digest_tells_texts_and_values_apart() -> None:
    statements = [
        Sql("SELECT 1"),
        Sql("SELECT 1", {"a": 1}),
        Sql("SELECT 1", {"a": "1"}),
        Sql("SELECT 1", {"a": [1]}),
        Sql("SELECT 1", {"b": 1}),
        Sql("SELECT 2", {"b": 1}),
    ]

    assert len({statement_digest(each) for each in statements}) == len(statements)
    assert statement_digest(Sql("x", {"a": 1, "b": 2})) == statement_digest(
        Sql("x", {"b": 2, "a": 1})
    )


def test_bytes_grow_with_rows_values_and_texts() -> None:
    sizes = [bytes_of(each) for each in ([], [(1,)], [(1, None)], [(1, "abc")], [(1, "abcd")] * 2)]

    assert sizes == sorted({*sizes})
    assert sizes[3] - sizes[2] == 3
