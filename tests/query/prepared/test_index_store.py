"""Stores indexes beside the rollups that they are built from; a restart builds none again."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from query.prepared import index_store
from query.prepared.index_store import LEAST_SECONDS, MOST_SETS, MOST_TIMES
from query.prepared.store import SEQUENCES, TOTALS, RollupKey
from schemas.lake.delta_table import DataFile
from tests.installation import eventually
from tests.query.prepared.indexes import BOTH, INDEXES, KEYS, LIMIT, Process, groups, is_alike
from tests.query.prepared.no_files import NO_FILES


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: type(index).__name__)
def test_an_index_is_read_as_it_was_written(tmp_path: Path, index: object) -> None:
    Process(tmp_path).files.write("x", BOTH, index)

    assert is_alike(Process(tmp_path).files.read("x", BOTH), index)


HARM: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda content: content[: len(content) // 2],
    "cut": lambda content: content[:-1],
    "header": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
    "array": lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
    "format": lambda content: b"TMINDEX0" + content[8:],
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_damaged_index_is_made_anew(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    Process(tmp_path).index("a")
    [path] = tmp_path.glob("*/*/*.index")
    path.write_bytes(harm(path.read_bytes()))
    process = Process(tmp_path)

    assert is_alike(process.index("a"), groups())
    assert process.made == ["a"]
    assert Process(tmp_path).files.read("a", BOTH) is not None


@pytest.mark.parametrize("put", NO_FILES)
@pytest.mark.parametrize("suffix", ["index", "set"])
def test_what_is_no_file_is_made_anew(
    tmp_path: Path, suffix: str, put: Callable[[Path], None]
) -> None:
    Process(tmp_path).index("a")
    [path] = tmp_path.glob(f"*/*/*.{suffix}")
    path.unlink()
    put(path)
    process = Process(tmp_path)

    assert process.files.sets("shop") == ([BOTH] if suffix == "index" else [])
    assert is_alike(process.index("a"), groups())
    assert Process(tmp_path).files.sets("shop") == [BOTH] or suffix == "set"
    process.files.remove_others("shop", ())


@pytest.mark.parametrize("suffix", ["index", "set"])
def test_an_exchanged_file_is_not_read(tmp_path: Path, suffix: str) -> None:
    process = Process(tmp_path)
    process.index("a")
    other = frozenset(KEYS[2:4])
    process.index("a", rollups=other)
    one, two = tmp_path.glob(f"*/*/*.{suffix}")
    contents = one.read_bytes(), two.read_bytes()
    two.write_bytes(contents[0])
    one.write_bytes(contents[1])
    files = Process(tmp_path).files

    if suffix == "set":
        assert files.sets("shop") == []
    else:
        assert [files.read("a", rollups) for rollups in (BOTH, other)] == [None, None]


@pytest.mark.parametrize("place", range(0, 12, 3))
def test_a_damaged_name_of_a_set_is_no_set(tmp_path: Path, place: int) -> None:
    Process(tmp_path).index("a")
    [path] = tmp_path.glob("*/*/*.set")
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 0x80  # no UTF-8 any more
    path.write_bytes(content)
    process = Process(tmp_path)

    assert process.rollups(0) == [0]
    assert not path.exists()
    process.files.remove_others("shop", ["0", "1"])
    assert is_alike(process.index("a"), groups())


def test_what_belongs_to_the_oldest_sets_goes(tmp_path: Path) -> None:
    process = Process(tmp_path, 64 * LIMIT)
    for i in range(2 * MOST_SETS):
        process.index("a", rollups=frozenset([RollupKey("shop", f"{i}")]))
        process.index("a", rollups=frozenset([RollupKey("blog", f"{i}")]))

    assert len(process.files.sets("shop")) == len(process.files.sets("blog")) == MOST_SETS
    assert len(list(tmp_path.glob("*/*/*.index"))) == 2 * MOST_SETS
    assert frozenset([RollupKey("shop", f"{2 * MOST_SETS - 1}")]) in process.files.sets("shop")


def test_indexes_of_data_files_that_are_gone_go_too(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.index("a")
    process.index("b", rollups=frozenset(KEYS[1:3]))
    process.files.remove_others("shop", ["1", "2", "3"])

    assert process.files.sets("shop") == [frozenset(KEYS[1:3])]
    assert len(list(tmp_path.glob("*/*/*.index"))) == 1
    process.files.remove_others("shop", ())
    assert [*tmp_path.glob("*/*/*")] == []


def test_each_kind_of_parts_has_sets_of_its_own(tmp_path: Path) -> None:
    process = Process(tmp_path, 64 * LIMIT)
    totals = [frozenset([RollupKey("shop", f"{i}", TOTALS)]) for i in range(MOST_SETS)]
    sequences = [frozenset([RollupKey("shop", f"{i}", SEQUENCES)]) for i in range(MOST_SETS + 1)]
    for rollups in [*totals, *sequences]:
        process.index("a", rollups=rollups)

    assert {*process.files.sets("shop")} == {*totals, *sequences[1:]}
    process.files.remove_others("shop", (), [SEQUENCES])
    assert {*process.files.sets("shop")} == {*totals}


def test_indexes_are_within_the_limit_of_the_folder(tmp_path: Path) -> None:
    process = Process(tmp_path)
    for name in range(40):
        process.index(name)

    eventually(lambda: sum(path.stat().st_size for path in tmp_path.glob("*/*/*")) <= LIMIT)
    assert len(list(tmp_path.glob("*/*/*.index"))) > 2


def test_an_index_of_other_sources_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Process(tmp_path).index("a")
    monkeypatch.setattr(index_store, "revision", lambda: "another")
    process = Process(tmp_path)

    process.index("a")
    assert process.made == ["a"]


def test_an_index_is_made_once_and_found_after_a_restart(tmp_path: Path) -> None:
    before = Process(tmp_path)
    assert before.index("a") is before.index("a")
    after = Process(tmp_path)

    assert is_alike(after.index("a"), groups())
    after.index("b")
    after.index("a", rollups=frozenset(KEYS[:3]))
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
    known = Process(tmp_path).rollups

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

    assert process.indexes.rollup_set(wanted, "012", is_kept=False) == wanted
    assert process.rollups(1, 2) == [1, 2]


def test_few_parts_use_an_index_of_any_set_with_them(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.rollups(0, 1, 2, 3, 4)
    assert process.rollups(4, index="a") == [4]
    process.index("a", rollups=frozenset(KEYS[:5]))
    assert Process(tmp_path).rollups(3, index="a") == [0, 1, 2, 3, 4]

    assert process.rollups(3, index="a") == [0, 1, 2, 3, 4]
    assert process.rollups(2, index="a", stored="1235") == [2]
    assert process.rollups(1, index="b") == [1]
    assert process.rollups(5, index="a") == [5]


def test_an_index_that_is_not_stored_is_in_memory_only(tmp_path: Path) -> None:
    process = Process(tmp_path)
    made = [
        process.indexes.made("a", BOTH, groups, stored=False),
        process.indexes.made("a", BOTH, groups, stored=False),
    ]
    index_store.WRITER.submit(lambda: None).result()  # what is written behind queries

    assert made[0] is made[1]
    assert process.files.read("a", BOTH) is None


@pytest.mark.parametrize(
    ("rollups", "rows", "few"), [(2, 10, True), (3, 10, False), (2, 60, False)]
)
def test_few_parts_are_those_of_few_rows(
    rollups: int, rows: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_store, "FEW_ROLLUPS", 2)
    monkeypatch.setattr(index_store, "FEW_ROWS", 100)
    files = [DataFile(str(i), "2026-11-01", rows, 1, None, None, None) for i in range(6)]

    assert index_store.is_small(frozenset(KEYS[:rollups]), files) is few


def test_a_set_with_indexes_is_known_after_a_restart(tmp_path: Path) -> None:
    Process(tmp_path).index("a", rollups=frozenset(KEYS[:4]))
    process = Process(tmp_path)

    assert process.rollups(1, 2) == [0, 1, 2, 3]
    process.indexes.forget_sets("shop")
    assert process.rollups(1, 2) == [1, 2]
