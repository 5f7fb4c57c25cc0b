"""Columns of parts: read when they are needed, and gone with their file."""

import asyncio
from pathlib import Path
from threading import current_thread

import pytest

from query.prepared.byte_cache import ByteCache
from query.prepared.part_folder import PartFolder, PartKey
from query.prepared.part_reader import PartGone, PartReader, StoredPart, Work, in_thread
from tests.query.prepared.parts import part_of

KEY = PartKey("shop", "day=2026-11-10/one.parquet")
MEMORY = 2**20


def reader_of(folder: PartFolder, views: list[int]) -> PartReader:
    """A reader of a folder that has a part with these page views."""
    write(folder, views)
    return PartReader(folder, ByteCache(MEMORY))


def write(folder: PartFolder, views: list[int]) -> None:
    visitors = [i % 5 for i in range(len(views))]
    folder.write(KEY, part_of("pages", quarter=[7] * len(views), visitor=visitors, views=views))


def test_columns_are_those_that_were_written(tmp_path: Path) -> None:
    reader = reader_of(PartFolder(tmp_path, MEMORY), [300, 2])
    table = StoredPart(reader, KEY, None).table("pages")

    assert {*table.numbers} == {"visitor", "views", "place"}
    assert "of_path" not in table.numbers
    assert table.between("views", 0, 9).tolist() == [300, 2]
    assert table.between("quarter", 0, 9).tolist() == [7, 7]
    assert reader.hashes("visitor", KEY).tolist() == [0, 1]


def test_a_part_in_place_of_another_is_read_anew(tmp_path: Path) -> None:
    """Where its columns are is known of the former file, which is not that of the new one."""
    folder = PartFolder(tmp_path, MEMORY)
    reader = reader_of(folder, [1] * 500)
    assert len(reader.numbers(KEY, "pages", "views")) == 500
    write(folder, [*range(700)])

    with pytest.raises(PartGone):
        reader.numbers(KEY, "pages", "visitor")
    write(folder, [*range(700)])

    assert len(reader.numbers(KEY, "pages", "visitor")) == 700


def test_a_part_that_was_removed_is_gone(tmp_path: Path) -> None:
    reader = reader_of(PartFolder(tmp_path, MEMORY), [1])
    [path] = tmp_path.rglob("*.part")
    path.unlink()

    with pytest.raises(PartGone):
        reader.frame(KEY, "pages")


def test_each_kind_of_work_has_threads_of_its_own() -> None:
    async def names() -> list[str]:
        return [await in_thread(lambda: current_thread().name, work) for work in Work]

    found = asyncio.run(names())

    assert [name.rpartition("_")[0] for name in found] == [
        "prepared", "prepared-custom", "prepared-shares",
    ]  # fmt: skip
