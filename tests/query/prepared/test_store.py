"""Files of rollups: one for each website and data file, bounded in bytes with their indexes."""

import os
import time
from collections.abc import Callable
from errno import EMFILE, ENOSPC
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import IO

import pytest

from query.prepared import store
from query.prepared.index_store import IndexStore
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_file import write_rollup
from query.prepared.store import (
    KINDS,
    LOADS,
    SEQUENCES,
    TABLES,
    TOTALS,
    VITALS,
    RollupKey,
    RollupStore,
    kinds_beside,
)
from tests.query.prepared.no_files import NO_FILES
from tests.query.prepared.rollups import column_rows, part_of, whole_part


def test_kinds_of_the_same_data_files() -> None:
    assert {*kinds_beside(TOTALS)} == {TOTALS, SEQUENCES, LOADS}
    assert kinds_beside(VITALS) == [VITALS]


def test_names_of_kinds_and_tables_are_told_apart() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert not any("-" in kind for kind in KINDS)  # what follows in names of files


KEY = RollupKey("shop", "day=2026-11-10/one.parquet")
LIMIT = 2**20


def a_part(rows: int = 3) -> Rollup:
    return part_of(
        "pages",
        quarter=[i % 7 for i in range(rows)],
        visitor=[i % 5 - 1 for i in range(rows)],
        of_path=[None if i % 3 == 2 else f"/ü{i}" for i in range(rows)],
        views=[300] * rows,
    )


def read(folder: RollupStore, key: RollupKey, table: str = "pages") -> Rollup | None:
    return folder.read(key, partial(whole_part, table=table))


def assert_alike(one: Rollup | None, other: Rollup) -> None:
    assert one is not None
    for column in one.hashes:
        assert (one.hashes[column] == other.hashes[column]).all()
    assert "visitor" in one.hashes
    for name, columns in other.tables.items():
        assert one.tables[name].texts == columns.texts
        for column, values in columns.stored.items():
            assert (one.tables[name].stored[column] == values).all()


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    assert not folder.has(KEY)
    assert read(folder, KEY) is None

    folder.write(KEY, a_part())

    assert folder.has(KEY)
    assert_alike(read(folder, KEY), a_part())
    assert_alike(read(RollupStore(tmp_path, LIMIT), KEY), a_part())
    assert not folder.has(RollupKey("blog", KEY.data_file))


def test_a_rollup_stays_when_the_process_cannot_open_files(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    folder.write(KEY, a_part())

    def exhausted(_file: IO[bytes], _path: str) -> Rollup:
        raise OSError(EMFILE, os.strerror(EMFILE))

    assert folder.read(KEY, exhausted) is None
    assert_alike(read(folder, KEY), a_part())


def test_what_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    path = tmp_path / "shop" / "rows-one"

    def without_space(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    with pytest.raises(OSError, match="No space left"):
        folder.put(path, without_space)

    assert not [*path.parent.iterdir()]


def test_names_are_those_that_are_there_now(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    assert not folder.names("site")
    keys = [RollupKey("site", f"day=2026-10-01/{i}.parquet") for i in range(4)]
    for key in keys[:2]:  # the second one right after the first
        folder.write(key, a_part())
        assert key.name in folder.names("site")
    own = folder.of_website("site")
    long_ago = time.time() - 60
    os.utime(own, (long_ago, long_ago))
    assert folder.names("site") == folder.names("site") == {key.name for key in keys[:2]}

    RollupStore(tmp_path, LIMIT).write(keys[2], a_part())  # by another process

    assert folder.names("site") == {key.name for key in keys[:3]}
    (own / keys[0].name).unlink()
    assert folder.names("site") == {key.name for key in keys[1:3]}
    rmtree(own)
    assert not folder.names("site")
    assert not folder.names("blog")


def test_a_folder_that_cannot_be_read_has_no_parts(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    folder.write(KEY, a_part())
    own = folder.of_website(KEY.website)
    rmtree(own)
    own.symlink_to(own)

    assert not folder.names(KEY.website)
    assert not folder.has(KEY)
    assert not IndexStore(folder).has("a", frozenset([KEY]))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_a_damaged_file_is_removed(tmp_path: Path, share: float) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    folder.write(KEY, a_part(500))
    [path] = tmp_path.glob("*/*/*.parquet")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    assert read(folder, KEY) is None
    assert not folder.has(KEY)


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    folder.write(KEY, a_part(500))
    [path] = tmp_path.glob("*/*/*.parquet")
    content = path.read_bytes()
    for position in range(0, len(content), 11):
        changed = bytearray(content)
        changed[position] ^= 1
        path.write_bytes(changed)

        assert read(folder, KEY) is None, position
        assert not folder.has(KEY)


@pytest.mark.parametrize("put", NO_FILES)
def test_what_is_no_file_is_removed(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """Also by a service that starts, and when it was left behind."""
    RollupStore(tmp_path, LIMIT).write(KEY, a_part())
    [path] = tmp_path.glob("*/*/*.parquet")
    path.unlink()
    put(path)
    put(path.with_name("tmp1.new"))
    folder = RollupStore(tmp_path, LIMIT)

    assert read(folder, KEY) is None
    assert not folder.has(KEY)
    folder.write(KEY, a_part())
    assert_alike(read(folder, KEY), a_part())


def test_an_exchanged_file_is_noticed(tmp_path: Path) -> None:
    """As after a restore that puts files of one website into the folder of another."""
    folder = RollupStore(tmp_path, LIMIT)
    keys = [RollupKey(website, KEY.data_file) for website in ("shop", "blog")]
    for rows, key in enumerate(keys, 500):
        folder.write(key, a_part(rows))
    one, other = (next(tmp_path.glob(f"*/{key.path}")) for key in keys)
    contents = one.read_bytes(), other.read_bytes()
    other.write_bytes(contents[0])
    one.write_bytes(contents[1])

    assert [read(folder, key) for key in keys] == [None, None]
    assert not any(map(folder.has, keys))


def test_sessions_of_several_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    keys = {"sessions": [2**62, 5, 2**62, 9], "visits": [9, 7]}
    columns = {name: {"quarter": [0] * len(of), "session_key": of} for name, of in keys.items()}
    folder.write(KEY, make_rollup({name: column_rows(each) for name, each in columns.items()}))

    for name, of in keys.items():
        found = read(folder, KEY, name)
        assert found is not None
        positions = found.tables[name].numbers["session_key"]
        assert found.hashes["session_key"][positions].tolist() == sorted(of)


def test_what_was_not_used_for_longest_is_removed(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    keys = [RollupKey("shop", f"day=2026-11-10/{i}.parquet") for i in range(9)]
    folder.write(keys[0], a_part(2_000))
    [first] = tmp_path.glob("*/*/*.parquet")
    small = RollupStore(tmp_path, first.stat().st_size * 5)
    for age, key in enumerate(keys):
        small.write(key, a_part(2_000))
        for path in tmp_path.glob("*/*/*.parquet"):
            os.utime(path, (path.stat().st_mtime - 60,) * 2)
        assert read(small, keys[0]) is not None, age

    assert small.has(keys[0])
    assert small.has(keys[-1])
    assert not small.has(keys[1])
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*/*")) <= LIMIT


def test_parts_of_another_definition_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RollupStore(tmp_path, LIMIT).write(KEY, a_part())
    monkeypatch.setattr(store, "definition", lambda: "ffffffff")

    assert not RollupStore(tmp_path, LIMIT).has(KEY)
    assert list(tmp_path.iterdir()) == []


def test_parts_of_data_files_that_are_gone_are_removed(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    other, of_blog = RollupKey("shop", "two.parquet"), RollupKey("blog", "two.parquet")
    for key in (KEY, other, of_blog):
        folder.write(key, a_part())

    folder.remove_others("shop", [KEY.data_file, "three.parquet"])

    assert [folder.has(key) for key in (KEY, other, of_blog)] == [True, False, True]


def test_parts_of_one_kind_are_removed_alone(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    keys = [RollupKey("shop", KEY.data_file, kind) for kind in (TOTALS, SEQUENCES)]
    for key in keys:
        folder.write(key, a_part())

    folder.remove_others("shop", (), [SEQUENCES])

    assert [folder.has(key) for key in keys] == [True, False]


def test_what_a_killed_process_left_is_no_part(tmp_path: Path) -> None:
    folder = RollupStore(tmp_path, LIMIT)
    folder.write(KEY, a_part())
    [path] = tmp_path.glob("*/*/*.parquet")
    old, new = path.with_name("tmp1.new"), path.with_name("tmp2.new")
    for left in (old, new):
        left.write_bytes(b"PK")
    os.utime(old, (0, 0))

    assert RollupStore(tmp_path, LIMIT).has(KEY)
    assert (old.exists(), new.exists()) == (False, True)


def test_the_same_rows_are_the_same_part_in_whatever_order_they_come() -> None:
    """Positions in a rollup are kept in indexes, which a rollup that is made anew must fit."""
    chance = Random(5)
    rows = [
        (chance.randrange(3), chance.randrange(4), chance.getrandbits(60) % 9, chance.choice("ab"))
        for _ in range(200)
    ]
    written = set()
    for _ in range(5):
        chance.shuffle(rows)
        quarters, visitors, sessions, paths = zip(*rows, strict=True)
        tables = {
            "sessions": column_rows(
                {"quarter": quarters, "visitor": visitors, "session_key": sessions}
            ),
            "visits": column_rows({"quarter": quarters, "session_key": sessions, "of_path": paths}),
        }
        file = BytesIO()
        write_rollup(file, "of/one.rollup", make_rollup(tables))
        written.add(file.getvalue())

    assert len(written) == 1
