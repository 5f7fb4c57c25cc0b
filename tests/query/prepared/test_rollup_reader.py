"""Columns of rollups: read when they are needed, and gone with their file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest

from query.engine.engine import ColumnEngine
from query.prepared import rollup_reader
from query.prepared.build import build_rollup
from query.prepared.result_cache import ENTRY_BYTES, ByteCache
from query.prepared.rollup import Rollup
from query.prepared.rollup_reader import RollupGone, RollupReader, StoredRollup, Work, in_thread
from query.prepared.store import RollupKey, RollupStore
from query.scope.row_scope import Scope
from schemas.lake.delta_table import DataFile
from tests.query.lake import a_view
from tests.query.prepared.rollups import part_of
from tests.query.prepared.test_prepared_results import TODAY, TYPES, ask, files, prepare, stored
from tests.query.query_service import InProcessService

KEY = RollupKey("shop", "day=2026-11-10/one.parquet")
MEMORY = 2**20


def reader_of(folder: RollupStore, views: list[int]) -> RollupReader:
    """A reader of a folder that has a rollup with these page views."""
    write(folder, views)
    return RollupReader(folder, ByteCache(MEMORY))


def write(folder: RollupStore, views: list[int]) -> None:
    visitors = [i % 5 for i in range(len(views))]
    folder.write(KEY, part_of("pages", quarter=[7] * len(views), visitor=visitors, views=views))


def test_columns_are_those_that_were_written(tmp_path: Path) -> None:
    reader = reader_of(RollupStore(tmp_path, MEMORY), [300, 2])
    table = StoredRollup(reader, KEY, None).table("pages")

    assert {*table.numbers} == {"visitor", "views", "place"}
    assert "of_path" not in table.numbers
    assert table.between("views", 0, 9).tolist() == [300, 2]
    assert table.between("quarter", 0, 9).tolist() == [7, 7]
    assert reader.hashes("visitor", KEY).tolist() == [0, 1]


def test_a_part_in_place_of_another_is_read_anew(tmp_path: Path) -> None:
    """Where its columns are is known of the former file, which is not that of the new one."""
    folder = RollupStore(tmp_path, MEMORY)
    reader = reader_of(folder, [1] * 500)
    assert len(reader.numbers(KEY, "pages", "views")) == 500
    write(folder, [*range(700)])

    with pytest.raises(RollupGone):
        reader.numbers(KEY, "pages", "visitor")
    write(folder, [*range(700)])

    assert len(reader.numbers(KEY, "pages", "visitor")) == 700


def test_a_part_that_was_removed_is_gone(tmp_path: Path) -> None:
    reader = reader_of(RollupStore(tmp_path, MEMORY), [1])
    [path] = tmp_path.rglob("*.parquet")
    path.unlink()

    with pytest.raises(RollupGone):
        reader.frame(KEY, "pages")


def test_each_kind_of_work_has_threads_of_its_own() -> None:
    async def names() -> list[str]:
        return [await in_thread(lambda: current_thread().name, work) for work in Work]

    found = asyncio.run(names())

    assert [name.rpartition("_")[0] for name in found] == [
        "prepared", "prepared-custom", "prepared-shares",
    ]  # fmt: skip


def test_rows_of_today_are_added_without_being_prepared(service: InProcessService) -> None:
    stored(service)
    ask(service)
    prepare(service)
    service.lake.holds(a_view("/new", visitor="u9", session="s9", at=TODAY))

    found, [[summary], *_] = ask(service)
    prepare(service)

    assert found == [True] * 4
    assert (summary["pageviews"], summary["unique_visitors"], summary["sessions"]) == (10, 5, 6)
    assert len(files(service)) == 1


def test_larger_files_of_today_are_summed_up_once(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever range is asked for, and whatever is stored since."""
    read: list[list[int]] = []

    async def noted(
        engine: ColumnEngine, scope: Scope, files: Sequence[DataFile], *others: Any
    ) -> Rollup:
        read.append(sorted(file.rows for file in files))
        return await build_rollup(engine, scope, files, *others)

    monkeypatch.setattr(rollup_reader, "LARGE_ROWS", 3)
    monkeypatch.setattr(rollup_reader, "build_rollup", noted)
    stored(service)
    ask(service)
    prepare(service)
    for rows in (3, 1, 2):
        service.lake.holds(*[a_view("/new", visitor="u9", session="s9", at=TODAY)] * rows)

    found, [[summary], *_] = ask(service)
    assert (found, summary["pageviews"], summary["sessions"]) == ([True] * 4, 15, 6)
    assert {*map(str, read)} == {"[3]", "[1, 2]"}
    read.clear()
    ask(service, startDate="2026-11-05")
    assert read == []
    service.lake.holds(a_view("/new", visitor="u9", session="s9", at=TODAY))
    ask(service)
    assert {*map(str, read)} == {"[1, 1, 2]"}


@pytest.mark.long
def test_keys_in_memory_are_short_whatever_range_is_asked_for(service: InProcessService) -> None:
    """Clients that name seconds ask for another range each time: no key may have all data files."""
    times = [f"2026-11-{day:02d}T12:{minute}:00Z" for day in range(1, 29) for minute in (10, 40)]
    service.lake.holds(*(a_view("/", at=time) for time in times))
    ask(service)
    prepare(service)
    assert service.results is not None
    memory = service.results._memory
    ask(service, startDate="2026-11-01 12:01:00")
    before = {*memory._values}

    found, _ = ask(service, startDate="2026-11-01 12:01:01")

    assert found == [True] * 4
    added = [key if isinstance(key, tuple) else (key,) for key in memory._values.keys() - before]
    assert len(added) >= len(TYPES)
    for key in added:
        own = [
            each for each in key if not isinstance(each, frozenset)
        ]  # sets of rollups are shared
        assert len(repr(own)) < ENTRY_BYTES, key
