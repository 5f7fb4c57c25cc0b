"""Stored offsets of tables, looked up by receipts that may be invalid."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from query.engine import table_offsets
from query.engine.table_offsets import TableOffsets
from schemas.lake.log_numbers import open_with_numbers
from schemas.tables import EVENTS
from tests.query.lake import Lake


@pytest.fixture
def known(tmp_path: Path) -> TableOffsets:
    """A table of events with the next offset 41 of partition 2, and 7 of partition 3."""
    lake = Lake(tmp_path / "lake")
    lake.moves(EVENTS, 2, 41)
    lake.moves(EVENTS, 3, 7)
    return TableOffsets(str(lake.root), "", 1)


def test_a_first_look_at_the_table_holds_nobody_up_whose_entry_is_new(
    known: TableOffsets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, may_go_on = threading.Event(), threading.Event()

    def slowly(*given: Any) -> Any:
        opened.set()
        assert may_go_on.wait(20)
        return open_with_numbers(*given)

    async def asking() -> tuple[int, int]:
        monkeypatch.setattr(table_offsets, "open_with_numbers", slowly)
        made_up = asyncio.create_task(known.stored_offset(EVENTS, 9, "events", 77))
        await asyncio.to_thread(opened.wait, 20)
        Lake(tmp_path / "lake").moves(EVENTS, 2, 42)
        new = await asyncio.wait_for(known.stored_offset(EVENTS, 1, "events", 2), 10)
        assert not made_up.done()
        may_go_on.set()
        return new.next, (await made_up).next

    assert asyncio.run(asking()) == (42, 0)


def test_the_table_is_read_once_for_all_places_also_made_up_ones(
    known: TableOffsets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asking() -> list[int]:
        first = await known.stored_offset(EVENTS, 1, "events", 2)
        monkeypatch.setattr(table_offsets, "open_with_numbers", None)  # nothing is read any more
        Lake(tmp_path / "lake").moves(EVENTS, 4, 9)
        others = [(1, 2), (1, 3), (1, 4), *((epoch, 2) for epoch in range(2, 22))]
        return [
            first.next,
            *[(await known.stored_offset(EVENTS, e, "events", p)).next for e, p in others],
        ]

    assert asyncio.run(asking()) == [41, 41, 7, 9, *[0] * 20]


def test_a_place_that_was_made_up_may_come_to_be(known: TableOffsets, tmp_path: Path) -> None:
    async def asking() -> list[int]:
        before = await known.stored_offset(EVENTS, 1, "events", 5)
        Lake(tmp_path / "lake").moves(EVENTS, 5, 3)
        return [before.next, (await known.stored_offset(EVENTS, 1, "events", 5)).next]

    assert asyncio.run(asking()) == [0, 3]
