"""Stored offsets of tables, looked up by receipts that may be invalid."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from query.engine import table_offsets
from query.engine.table_offsets import StoredOffset, TableOffsets
from schemas.lake.delta_table import open_table
from schemas.tables import EVENTS
from tests.query.lake import Lake


@pytest.fixture
def known(tmp_path: Path) -> TableOffsets:
    """A table of events with the next offset 41 of partition 2, and 7 of partition 3."""
    lake = Lake(tmp_path / "lake")
    lake.moves(EVENTS, 2, 41)
    lake.moves(EVENTS, 3, 7)
    return TableOffsets(str(lake.root), "", 1)


def test_made_up_places_hold_nobody_up_who_asks_for_a_real_one(
    known: TableOffsets, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, may_go_on = threading.Event(), threading.Event()
    really = open_table

    def slowly(*given: Any) -> Any:
        opened.set()
        assert may_go_on.wait(20)
        return really(*given)

    async def asking() -> tuple[StoredOffset, StoredOffset]:
        first = await known.stored_offset(EVENTS, 1, "events", 2)
        monkeypatch.setattr(table_offsets, "open_table", slowly)
        made_up = asyncio.create_task(known.stored_offset(EVENTS, 9, "events", 77))
        await asyncio.to_thread(opened.wait, 20)
        again = await asyncio.wait_for(known.stored_offset(EVENTS, 1, "events", 2), 10)
        assert not made_up.done()
        may_go_on.set()
        assert (await made_up).next == 0
        return first, again

    first, again = asyncio.run(asking())

    assert (first.next, again.next) == (41, 41)


def test_made_up_places_neither_fill_the_memory_nor_push_a_real_one_out(
    known: TableOffsets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_offsets, "MAX_ABSENT_KEYS", 5)

    async def asking() -> None:
        await known.stored_offset(EVENTS, 1, "events", 2)
        for epoch in range(2, 22):
            assert (await known.stored_offset(EVENTS, epoch, "events", 2)).next == 0
        monkeypatch.setattr(table_offsets, "open_table", None)  # nothing is read any more
        assert (await known.stored_offset(EVENTS, 1, "events", 2)).next == 41
        assert (await known.stored_offset(EVENTS, 21, "events", 2)).next == 0

    asyncio.run(asking())

    [followed] = known._readers.values()
    assert (len(followed._absent), len(followed._known)) == (5, 1)


def test_a_place_that_was_made_up_may_come_to_be(known: TableOffsets, tmp_path: Path) -> None:
    async def asking() -> list[int]:
        before = await known.stored_offset(EVENTS, 1, "events", 5)
        Lake(tmp_path / "lake").moves(EVENTS, 5, 3)
        return [before.next, (await known.stored_offset(EVENTS, 1, "events", 5)).next]

    assert asyncio.run(asking()) == [0, 3]
