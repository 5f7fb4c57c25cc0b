"""Compaction of imported rows: apart from live ones, in files that each cover a stretch of time."""

from datetime import UTC, date, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import compaction
from stream.maintenance.compaction import compact, write_sorted
from stream.maintenance.merge_plan import QUIET_MS, LiveDataFile, live_data_files, merge_plan
from stream.maintenance.sorted_rows import SLOT_MINUTES
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, named, rows, settings, version
from tests.stream.maintenance.test_import_deletion import fill
from tests.stream.writing.test_backfill_writer import MARCH_2019, a_backfill


def test_history_stays_apart_and_narrow_when_parts_are_joined(tmp_path: Path) -> None:
    fill(tmp_path)
    BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups()).write([a_message(1, named("late"))])

    compact(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path, small_parts=2))

    found = live_data_files(LakeTable(settings(tmp_path), EVENTS).handle, EVENTS)
    assert [(p.is_imported, p.rows, p.first_time and p.first_time.date()) for p in found] == [
        (False, 2, date(2026, 11, 21)),
        (True, 7, date(2019, 3, 1)),
    ]
    assert [
        part.ts_range and part.ts_range[1] - part.ts_range[0] for part in version_parts(tmp_path)
    ] == [0, 11]
    assert len(rows(settings(tmp_path), EVENTS, "name")) == 9


def test_history_settles_in_parts_that_each_cover_a_stretch_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "HISTORY_FILE_BYTES", 10_000)
    monkeypatch.setattr(compaction, "write_sorted", partial(write_sorted, row_group=2_048))
    config = settings(tmp_path, small_parts=2)
    for offset in range(3):
        items = [
            {"name": "e", "timestamp": MARCH_2019 + 1000 * (3 * n + offset), "line": n}
            for n in range(3000)
        ]
        sent = an_envelope(items, import_id=f"i{offset}")
        a_backfill(tmp_path).write([a_message(offset, sent)])

    compact(LakeTable(config, EVENTS), config)

    found = sorted(version(config, EVENTS).data_files, key=lambda part: part.ts_range or (0, 0))
    times = [part.ts_range for part in found if part.ts_range]
    assert len(times) > 1
    slot = SLOT_MINUTES * 60_000
    assert all(before[1] // slot <= after[0] // slot for before, after in pairwise(times))
    assert sum(part.rows for part in found) == 9000
    now = NOON_MS + 10 * QUIET_MS
    assert (
        list(merge_plan(live_data_files(LakeTable(config, EVENTS).handle, EVENTS), 2 * now, 99))
        == []
    )


def test_history_that_overlaps_is_settled_once_nothing_more_comes() -> None:
    def piece(first: float, last: float, websites: tuple[str, str] = ("w1", "w1")) -> LiveDataFile:
        begins, ends = (datetime.fromtimestamp(day * 86_400, UTC) for day in (first, last))
        return LiveDataFile("p", date(2026, 11, 21), 9, 9, begins, ends, NOON_MS, True, websites)

    def joined(*found: LiveDataFile, later: int = QUIET_MS + 1) -> int:
        return sum(len(of_day) for _, of_day in merge_plan(found, NOON_MS + later, 5))

    assert joined(piece(1, 5), piece(4, 9)) == 2
    assert joined(piece(1, 5), piece(4, 9), later=0) == 0
    assert joined(piece(1, 5), piece(5, 9)) == 0
    assert joined(piece(1, 5.01), piece(5, 9)) == 0  # of one half hour: 0.01 days are 14 minutes
    assert joined(piece(1, 5.02), piece(5, 9)) == 0
    assert joined(piece(1, 5.03), piece(5, 9)) == 2
    assert joined(piece(1, 5), piece(1, 5, ("w2", "w2"))) == 0
    assert joined(piece(1, 9, ("w1", "w2")), piece(1, 9, ("w2", "w3"))) == 0
    assert joined(piece(1, 9, ("w1", "w3")), piece(1, 9, ("w2", "w3"))) == 2


def version_parts(folder: Path) -> list[Any]:
    return sorted(version(settings(folder), EVENTS).data_files, key=lambda part: part.rows)
