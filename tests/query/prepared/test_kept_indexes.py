"""Indexes of sets of parts: made once, found after a restart, never used when damaged."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct, structs

from query.prepared import index_folder, kept_indexes
from query.prepared.breakdown import GroupsIndex, index_of
from query.prepared.byte_cache import ByteCache
from query.prepared.index_file import KINDS, SOURCES
from query.prepared.index_folder import MOST_SETS, IndexFolder
from query.prepared.kept_indexes import LEAST_SECONDS, MOST_TIMES, KeptIndexes, PartSet
from query.prepared.numbering import number
from query.prepared.part_folder import PartFolder, PartKey
from query.prepared.sessions import Sessions
from query.prepared.totals_index import TotalsIndex
from query.prepared.visit_index import LongVisits
from query.prepared.visit_page_index import VisitPageIndex
from tests.installation import eventually

KEYS = [PartKey("shop", str(i)) for i in range(6)]
BOTH = frozenset(KEYS[:2])
LIMIT = 2**20
ROWS = 40_000


def some(kind: str = "u2") -> np.ndarray:
    return np.random.default_rng(1).integers(0, 200, ROWS).astype(kind)


def groups() -> GroupsIndex:
    texts = [None, *(f"/ü{i}" for i in range(200))]
    return index_of([(some() + 1, texts)], some("u1"), some("u4"), some() + 1000)


INDEXES = (
    number({KEYS[0]: np.array([5, 9, 70]), KEYS[1]: np.array([-1, 9])}),
    groups(),
    TotalsIndex(3, np.array([[1, 2], [3, 4]]), some("u4"), 9, Sessions(*[some()] * 7)),
    LongVisits(*[some("i8")] * 4),
    VisitPageIndex(groups(), *[some()] * 6),
)


def is_alike(one: object, other: object) -> bool:
    """Whether both have the same values, of the same types."""
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        return one.dtype == other.dtype and bool((one == other).all()) and one.shape == other.shape
    if isinstance(one, PartKey | int | str):
        return one == other
    if isinstance(one, dict):
        assert isinstance(other, dict)
        return [*one] == [*other] and all(is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        assert isinstance(other, list | tuple)
        return [*one] == [*other]
    assert isinstance(one, Struct)
    assert isinstance(other, Struct)
    assert type(one) is type(other)
    return all(map(is_alike, structs.astuple(one), structs.astuple(other)))


class Process:
    """A query service with these files; it counts what it makes."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.files = IndexFolder(PartFolder(folder, limit))
        self.now = 0.0
        self.indexes = KeptIndexes(ByteCache(64 * LIMIT), self.files, lambda: self.now)
        self.made: list[object] = []

    def index(
        self, name: object, index: object = INDEXES[1], parts: PartSet = BOTH, seconds: float = 0
    ) -> object:
        def make() -> object:
            self.made.append(name)
            self.now += seconds
            return index

        found = self.indexes.made(name, parts, make)
        kept_indexes.WRITER.submit(lambda: None).result()  # what is written is there
        return found

    def parts(self, *numbers: int, stored: str = "012345") -> list[int]:
        wanted = frozenset(KEYS[i] for i in numbers)
        return sorted(int(key.data_file) for key in self.indexes.known_parts(wanted, stored))


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: type(index).__name__)
def test_an_index_is_read_as_it_was_written(tmp_path: Path, index: object) -> None:
    Process(tmp_path).files.write("x", BOTH, index)

    assert is_alike(Process(tmp_path).files.read("x", BOTH), index)


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


@pytest.mark.parametrize("place", range(0, 12, 3))
def test_a_damaged_name_of_a_set_is_no_set(tmp_path: Path, place: int) -> None:
    Process(tmp_path).index("a")
    [path] = tmp_path.glob("*/*/*.set")
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 0x80  # no UTF-8 any more
    path.write_bytes(content)
    process = Process(tmp_path)

    assert process.parts(0) == [0]
    assert not path.exists()
    process.files.remove_others("shop", ["0", "1"])
    assert is_alike(process.index("a"), groups())


def test_an_index_of_other_sources_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Process(tmp_path).index("a")
    monkeypatch.setattr(index_folder, "revision", lambda: "another")
    process = Process(tmp_path)

    process.index("a")
    assert process.made == ["a"]


def test_every_module_that_makes_an_index_is_a_source() -> None:
    makers = {kind.__module__.rpartition(".")[2] for kind in KINDS.values()}

    assert makers - {"part_folder"} <= {*SOURCES}


def test_a_set_of_more_parts_is_used_again(tmp_path: Path) -> None:
    known = Process(tmp_path).parts

    assert known(0, 1, 2, 3, 4) == [0, 1, 2, 3, 4]
    assert known(1, 2) == [0, 1, 2, 3, 4]
    assert known(1, 2, stored="1235") == [1, 2]
    assert known(1, 5) == [1, 5]
    assert MOST_TIMES * 1 < 5
    assert known(3) == [3]
    assert known(2, 3, 4) == [0, 1, 2, 3, 4]


def test_a_set_with_indexes_is_known_after_a_restart(tmp_path: Path) -> None:
    Process(tmp_path).index("a", parts=frozenset(KEYS[:4]))
    process = Process(tmp_path)

    assert process.parts(1, 2) == [0, 1, 2, 3]
    process.indexes.forget_parts("shop")
    assert process.parts(1, 2) == [1, 2]


def test_what_belongs_to_the_oldest_sets_goes(tmp_path: Path) -> None:
    process = Process(tmp_path, 64 * LIMIT)
    for i in range(2 * MOST_SETS):
        process.index("a", parts=frozenset([PartKey("shop", f"{i}")]))
        process.index("a", parts=frozenset([PartKey("blog", f"{i}")]))

    assert len(process.files.sets("shop")) == len(process.files.sets("blog")) == MOST_SETS
    assert len(list(tmp_path.glob("*/*/*.index"))) == 2 * MOST_SETS
    assert frozenset([PartKey("shop", f"{2 * MOST_SETS - 1}")]) in process.files.sets("shop")


def test_indexes_of_data_files_that_are_gone_go_too(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.index("a")
    process.index("b", parts=frozenset(KEYS[1:3]))
    process.files.remove_others("shop", ["1", "2", "3"])

    assert process.files.sets("shop") == [frozenset(KEYS[1:3])]
    assert len(list(tmp_path.glob("*/*/*.index"))) == 1
    process.files.remove_others("shop", ())
    assert [*tmp_path.glob("*/*/*")] == []


def test_indexes_are_within_the_limit_of_the_folder(tmp_path: Path) -> None:
    process = Process(tmp_path)
    for name in range(40):
        process.index(name)

    eventually(lambda: sum(path.stat().st_size for path in tmp_path.glob("*/*/*")) <= LIMIT)
    assert len(list(tmp_path.glob("*/*/*.index"))) > 2
