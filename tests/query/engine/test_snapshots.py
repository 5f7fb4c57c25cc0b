"""Pinned versions: the newest within its time, the same for a whole question, found again."""

import asyncio
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from query.engine.snapshots import PinnedVersion, SnapshotCache
from schemas.errors import Unavailable
from schemas.lake.committed_offsets import NO_VERSION
from schemas.lake.table_location import table_url
from schemas.tables import CLICKS, EVENTS
from tests.query.lake import Lake, a_view
from tests.query.query_service import InProcessService, start_service


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def snapshot_cache(lake: Lake, fresh_seconds: float = 0) -> SnapshotCache:
    return SnapshotCache(str(lake.root), lambda: 1, fresh_seconds)


def pin(cache: SnapshotCache, reopen: bool = False) -> PinnedVersion:
    return asyncio.run(cache.pin(EVENTS, reopen))


def test_a_table_that_was_never_stored_has_no_rows(lake: Lake) -> None:
    assert pin(snapshot_cache(lake)).version.number == NO_VERSION


def test_a_table_is_found_once_it_is_there(lake: Lake) -> None:
    cache = snapshot_cache(lake)
    pin(cache)
    lake.holds(a_view("/"))

    assert pin(cache).version.rows == 1


def test_a_version_is_kept_for_its_time_and_then_brought_forward(lake: Lake) -> None:
    slow, quick = snapshot_cache(lake, fresh_seconds=60), snapshot_cache(lake)
    lake.holds(a_view("/"))
    first = pin(slow), pin(quick)
    lake.holds(a_view("/"))

    assert pin(slow) == first[0]
    assert (pin(quick).version.number, pin(quick).version.rows) == (2, 2)


def test_only_parts_that_may_hold_rows_are_read(lake: Lake) -> None:
    lake.holds(a_view("/", website="shop", at="2026-11-10T12:00:00Z"))
    lake.holds(a_view("/", website="shop", at="2026-11-12T12:00:00Z"))
    lake.holds(a_view("/", website="blog", at="2026-11-10T12:00:00Z"))
    day = 1_794_268_800_000  # 2026-11-10T00:00:00Z

    parts = pin(snapshot_cache(lake)).data_files(["shop"], day, day + 86_400_000)

    assert [part.ts_range for part in parts] == [(day + 43_200_000, day + 43_200_000)]


def test_a_handle_that_the_log_has_left_behind_is_opened_anew(lake: Lake) -> None:
    cache = snapshot_cache(lake)
    lake.holds(a_view("/"))
    pin(cache)
    for _ in range(3):
        lake.holds(a_view("/"))
    table = DeltaTable(table_url(str(lake.root), EVENTS))
    table.create_checkpoint()
    log = lake.root / "events" / "_delta_log"
    for version in range(4):
        (log / f"{version:020}.json").unlink()

    assert pin(cache).version.rows == 4


def test_a_table_that_cannot_be_read_rightly_is_unavailable(lake: Lake) -> None:
    lake.holds(a_view("/"))
    log = lake.root / "events" / "_delta_log"
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    entry = json.dumps({"protocol": {**protocol, **features}})
    (log / f"{2:020}.json").write_text(entry)

    with pytest.raises(Unavailable, match="'events' cannot be read"):
        pin(snapshot_cache(lake))


def test_tables_are_pinned_each_on_its_own(lake: Lake) -> None:
    lake.holds(a_view("/"))

    clicks = asyncio.run(snapshot_cache(lake).pin(CLICKS))

    assert clicks.version.number == NO_VERSION


# Compaction during queries


def compact(lake: Lake) -> None:
    """One new part instead of all, and the old files gone, as after vacuum."""
    table = DeltaTable(table_url(str(lake.root), EVENTS))
    root = lake.root / "events"
    actions = table.get_add_actions(flatten=True)
    paths = actions.column("path").to_pylist()
    whole = pq.ParquetFile(root / paths[0]).read()
    new = "day=2026-11-10/compacted.parquet"
    pq.write_table(whole, root / new)
    size = (root / new).stat().st_size
    add = AddAction(new, size, {"day": "2026-11-10"}, 0, False, json.dumps({"numRecords": 1}))
    remove = [RemoveAction(path, data_change=False, deletion_timestamp=1) for path in paths]
    table.create_write_transaction([add, *remove], "append", table.schema(), ["day"])
    for path in paths:
        (root / path).unlink()


def test_a_part_that_was_compacted_away_makes_the_question_pin_anew(tmp_path: Path) -> None:
    service = start_service(tmp_path, fresh_seconds=60)
    service.holds(a_view("/"))
    assert service.rows("summary")[0]["pageviews"] == 1
    compact(service.lake)

    assert service.rows("summary")[0]["pageviews"] == 1
    assert service.query("summary").json["meta"]["versions"] == {"events": 2}


def test_a_custom_query_pins_anew_as_well(tmp_path: Path) -> None:
    service = start_service(tmp_path, fresh_seconds=60)
    service.holds(a_view("/"))
    count = [{"field": "path", "aggregate": "count", "alias": "n"}]
    assert service.custom("events", count).json["data"] == [{"n": 1}]
    compact(service.lake)

    assert service.custom("events", count).json["data"] == [{"n": 1}]


def test_files_that_stay_away_are_told_as_unavailable(service: InProcessService) -> None:
    service.holds(a_view("/"))
    for path in service.lake.paths(EVENTS):
        path.unlink()

    reply = service.query("summary")

    assert (reply.status, reply.json["success"], "retry-after" in reply.headers) == (
        503,
        False,
        True,
    )
