"""Compaction changes files and nothing else; readers of an older version read on."""

import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import (
    Side,
    compact,
    merge_files,
    write_sorted,
)
from stream.maintenance.merge_plan import (
    live_data_files,
)
from stream.maintenance.scheduler import TASKS
from stream.maintenance.sorted_rows import MAX_PORTIONS
from stream.maintenance.vacuum import checkpoint
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import (
    NOON_MS,
    a_message,
    an_envelope,
    rows,
    settings,
    version,
)
from tests.stream.maintenance.rows_to_merge import MIDNIGHT, made_rows, written

DAY_MS = 86_400_000
EVERYTHING = [column.name for column in EVENTS.columns if column.name != "day"]


def fill(config: Settings, batches: int, **envelope: Any) -> BatchWriter:
    """Parts with events of three websites in no order; every fourth happened the day before."""
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for offset in range(batches):
        items = [
            {
                "name": f"n{offset}-{i}",
                "timestamp": NOON_MS - (DAY_MS if i % 4 == 0 else 0) - 1000 * (i * 7 % 10),
                "anonymousId": f"a{i}",
                "properties": {"i": i},
                "time_on_page": i / 3,
            }
            for i in range(10)
        ]
        website = f"w{offset * 7 % 3}"
        drain.write([a_message(offset, an_envelope(items, subject_id=website, **envelope))])
    return drain


def test_compaction_keeps_every_value_of_every_row(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=5)
    fill(config, 6)
    before = rows(config, EVENTS, *EVERYTHING)

    compact(LakeTable(config, EVENTS), config)

    assert len(before) == 60
    assert rows(config, EVENTS, *EVERYTHING) == before
    assert len(version(config, EVENTS).data_files) == 2


@pytest.mark.parametrize("side", [Side.DAY, Side.LATE])
def test_a_merge_in_portions_writes_the_same_rows_in_the_same_order(
    tmp_path: Path, side: Side
) -> None:
    config = settings(tmp_path)
    fill(config, 6)
    files = sorted((tmp_path / "lake" / "events").rglob("*.parquet"))
    day = live_data_files(LakeTable(config, EVENTS).handle, EVENTS)[0].day
    whole, portions = tmp_path / "whole.parquet", tmp_path / "portions.parquet"

    assert write_sorted(EVENTS, day, files, side, whole) == [whole]
    assert write_sorted(EVENTS, day, files, side, portions, portion=4) == [portions]

    written, expected = pq.read_table(portions), pq.read_table(whole)
    assert written.num_rows == {Side.DAY: 42, Side.LATE: 18}[side]
    assert written.to_pylist() == expected.to_pylist()
    types = [(field.name, field.type) for field in expected.schema]
    assert [(field.name, field.type) for field in written.schema] == types


def test_compacted_parts_are_sorted_and_late_rows_lie_apart(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    fill(config, 3)

    compact(LakeTable(config, EVENTS), config)

    parts = sorted(version(config, EVENTS).data_files, key=lambda part: part.ts_range or (0, 0))
    assert [part.rows for part in parts] == [9, 21]
    assert [part.subject_range for part in parts] == [("w0", "w2"), ("w0", "w2")]
    midnight = NOON_MS - DAY_MS // 2
    late, day = (part.ts_range or (0, 0) for part in parts)
    assert late[1] < midnight <= day[0]
    for part in parts:
        found = duckdb.execute(
            """
            SELECT website_id, epoch_ms(ts) // 1_800_000, visitor_hash, kafka_offset, seq,
                   epoch_ms(ts)
              FROM read_parquet(?)
            """,
            [part.path],
        ).fetchall()
        assert found == sorted(found)
        assert [row[-1] for row in found] != sorted(row[-1] for row in found)


def test_a_reader_of_the_version_before_reads_on(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    fill(config, 4)
    held = version(config, EVENTS)

    compact(LakeTable(config, EVENTS), config)

    paths = [part.path for part in held.data_files]
    found = duckdb.execute("SELECT count(*) FROM read_parquet(?)", [paths]).fetchone()
    assert found == (40,)


def test_few_small_parts_are_left_alone(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=5)
    fill(config, 4)

    compact(LakeTable(config, EVENTS), config)

    assert len(version(config, EVENTS).data_files) == 4


class Overtaken(LakeTable):
    """Sees another commit right after it has looked."""

    rival: Callable[[], None] | None = None

    def refresh(self) -> None:
        super().refresh()
        if self.rival:
            rival, self.rival = self.rival, None
            rival()


@pytest.mark.parametrize("between", [False, True])
def test_of_two_compactions_of_the_same_parts_one_is_fenced(tmp_path: Path, between: bool) -> None:
    config = settings(tmp_path, small_parts=2)
    fill(config, 3)
    before = rows(config, EVENTS, *EVERYTHING)
    first, second = LakeTable(config, EVENTS), Overtaken(config, EVENTS)
    found = live_data_files(first.handle, EVENTS)
    ours, theirs = [merge_files(table, found[0].day, found) for table in (first, second)]
    old = [piece.path for piece in found]

    def overtake() -> None:
        first.replace_same_rows(old, ours, "2026-11-21")

    if between:
        second.rival = overtake
    else:
        overtake()

    with pytest.raises(Fenced):
        second.replace_same_rows(old, theirs, "2026-11-21")
    assert rows(config, EVENTS, *EVERYTHING) == before


def test_workers_commit_while_the_keeper_compacts(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=3)
    drain = fill(config, 3)
    stop = threading.Event()
    table = LakeTable(config, EVENTS)

    def keep() -> None:
        while not stop.is_set():
            compact(table, config)

    keeping = threading.Thread(target=keep)
    keeping.start()
    for offset in range(3, 40):
        drain.write([a_message(offset, an_envelope([{"name": str(offset)}]))])
    stop.set()
    keeping.join()

    assert len(rows(config, EVENTS, "name")) == 30 + 37
    assert len(set(rows(config, EVENTS, "name"))) == 30 + 37
    assert len(version(config, EVENTS).data_files) < 20


def test_a_checkpoint_keeps_the_next_offsets_and_the_parts(tmp_path: Path) -> None:
    config = settings(tmp_path)
    fill(config, 3)

    checkpoint(LakeTable(config, EVENTS))

    log = tmp_path / "lake" / "events" / "_delta_log"
    assert (log / "_last_checkpoint").exists()
    reader = LakeTable(config, EVENTS)
    assert (reader.next_offset("1/events/0"), len(reader.handle.file_uris())) == (3, 3)


def test_a_worker_whose_log_entries_were_cleaned_up_opens_the_table_anew(tmp_path: Path) -> None:
    config = settings(tmp_path)
    fill(config, 1)
    idle = LakeTable(config, EVENTS)
    fill(config, 4)
    log = tmp_path / "lake" / "events" / "_delta_log"
    DeltaTable(str(log.parent)).create_checkpoint()
    for entry in sorted(log.glob("*.json"))[:-1]:
        entry.unlink()

    idle.refresh()
    idle.commit([], {"1/events/0": OffsetUpdate(4, 5)})

    assert LakeTable(config, EVENTS).next_offset("1/events/0") == 5


def test_every_task_works_on_every_table(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    fill(config, 3)

    for table in (EVENTS, LEDGER):
        for make_task in TASKS.values():
            make_task()(LakeTable(config, table), config)

    assert len(version(config, LEDGER).data_files) == 1


@pytest.mark.long
def test_a_merge_of_many_portions_keeps_few_files_open(tmp_path: Path) -> None:
    files = written(tmp_path, made_rows(3_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = max(int(file.name) for file in Path("/dev/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + MAX_PORTIONS + 40, hard))
    try:
        write_sorted(EVENTS, MIDNIGHT.date(), files, Side.HISTORY, tmp_path / "new", portion=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    new = sorted((tmp_path / "new").iterdir())
    assert sum(pq.read_metadata(file).num_rows for file in new) == 3_000
