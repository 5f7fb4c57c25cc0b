"""Indexes of sets of parts: made once, found after a restart, of the largest useful set."""

from pathlib import Path

import pytest

from query.prepared import kept_indexes
from query.prepared.kept_indexes import LEAST_SECONDS, MOST_TIMES
from schemas.lake.delta_table import DataFile
from tests.query.prepared.indexes import BOTH, INDEXES, KEYS, Process, groups, is_alike


def test_an_index_is_made_once_and_found_after_a_restart(tmp_path: Path) -> None:
    before = Process(tmp_path)
    assert before.index("a") is before.index("a")
    after = Process(tmp_path)

    assert is_alike(after.index("a"), groups())
    after.index("b")
    after.index("a", parts=frozenset(KEYS[:3]))
    assert (before.made, after.made) == (["a"], ["b", "a"])


@pytest.mark.parametrize(("seconds", "made"), [(LEAST_SECONDS / 2, 2), (2 * LEAST_SECONDS, 1)])
def test_a_small_index_is_stored_when_it_took_long(
    tmp_path: Path, seconds: float, made: int
) -> None:
    processes = [Process(tmp_path) for _ in range(2)]
    for process in processes:
        assert is_alike(process.index("a", INDEXES[0], seconds=seconds), INDEXES[0])
    assert sum(len(process.made) for process in processes) == made


def test_a_set_of_more_parts_is_used_again(tmp_path: Path) -> None:
    known = Process(tmp_path).parts

    assert known(0, 1, 2, 3, 4) == [0, 1, 2, 3, 4]
    assert known(1, 2) == [0, 1, 2, 3, 4]
    assert known(1, 2, stored="1235") == [1, 2]
    assert known(1, 5) == [1, 5]
    assert MOST_TIMES * 1 < 5
    assert known(3) == [3]
    assert known(2, 3, 4) == [0, 1, 2, 3, 4]


def test_a_set_that_is_not_kept_serves_no_later_query(tmp_path: Path) -> None:
    process = Process(tmp_path)
    wanted = frozenset(KEYS[:3])

    assert process.indexes.known_parts(wanted, "012", is_kept=False) == wanted
    assert process.parts(1, 2) == [1, 2]


def test_few_parts_use_an_index_of_any_set_with_them(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.parts(0, 1, 2, 3, 4)
    assert process.parts(4, index="a") == [4]
    process.index("a", parts=frozenset(KEYS[:5]))
    assert Process(tmp_path).parts(3, index="a") == [0, 1, 2, 3, 4]

    assert process.parts(3, index="a") == [0, 1, 2, 3, 4]
    assert process.parts(2, index="a", stored="1235") == [2]
    assert process.parts(1, index="b") == [1]
    assert process.parts(5, index="a") == [5]


def test_an_index_that_is_not_stored_is_in_memory_only(tmp_path: Path) -> None:
    process = Process(tmp_path)
    made = [
        process.indexes.made("a", BOTH, groups, stored=False),
        process.indexes.made("a", BOTH, groups, stored=False),
    ]
    kept_indexes.WRITER.submit(lambda: None).result()  # what is written behind queries

    assert made[0] is made[1]
    assert process.files.read("a", BOTH) is None


@pytest.mark.parametrize(("parts", "rows", "few"), [(2, 10, True), (3, 10, False), (2, 60, False)])
def test_few_parts_are_those_of_few_rows(
    parts: int, rows: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_indexes, "FEW_PARTS", 2)
    monkeypatch.setattr(kept_indexes, "FEW_ROWS", 100)
    files = [DataFile(str(i), "2026-11-01", rows, 1, None, None, None) for i in range(6)]

    assert kept_indexes.are_few(frozenset(KEYS[:parts]), files) is few


def test_a_set_with_indexes_is_known_after_a_restart(tmp_path: Path) -> None:
    Process(tmp_path).index("a", parts=frozenset(KEYS[:4]))
    process = Process(tmp_path)

    assert process.parts(1, 2) == [0, 1, 2, 3]
    process.indexes.forget_parts("shop")
    assert process.parts(1, 2) == [1, 2]
