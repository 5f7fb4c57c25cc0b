"""Files of indexes beside their parts: bounded, and never used when damaged or outdated."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from query.prepared import index_folder
from query.prepared.index_folder import MOST_SETS
from query.prepared.part_folder import PartKey
from query.prepared.part_kinds import SEQUENCES, TOTALS
from tests.installation import eventually
from tests.query.prepared.indexes import BOTH, KEYS, LIMIT, Process, groups, is_alike
from tests.query.prepared.no_files import NO_FILES

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
    process.index("a", parts=other)
    one, two = tmp_path.glob(f"*/*/*.{suffix}")
    contents = one.read_bytes(), two.read_bytes()
    two.write_bytes(contents[0])
    one.write_bytes(contents[1])
    files = Process(tmp_path).files

    if suffix == "set":
        assert files.sets("shop") == []
    else:
        assert [files.read("a", parts) for parts in (BOTH, other)] == [None, None]


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


def test_each_kind_of_parts_has_sets_of_its_own(tmp_path: Path) -> None:
    process = Process(tmp_path, 64 * LIMIT)
    totals = [frozenset([PartKey("shop", f"{i}", TOTALS)]) for i in range(MOST_SETS)]
    sequences = [frozenset([PartKey("shop", f"{i}", SEQUENCES)]) for i in range(MOST_SETS + 1)]
    for parts in [*totals, *sequences]:
        process.index("a", parts=parts)

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
    monkeypatch.setattr(index_folder, "revision", lambda: "another")
    process = Process(tmp_path)

    process.index("a")
    assert process.made == ["a"]
