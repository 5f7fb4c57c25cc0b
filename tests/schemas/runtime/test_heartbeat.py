"""Heartbeats while the disk takes nothing more: nothing dies of it, nothing is left of it."""

import asyncio
from pathlib import Path

import pytest

from schemas.http.server import _write_heartbeats
from schemas.runtime.heartbeat import (
    Heartbeat,
    PartitionProgress,
    read_heartbeats,
    remove_heartbeat,
    silence,
    write_heartbeat,
)
from tests.accidents import full_disk


def test_without_room_the_old_heartbeat_is_touched_and_nothing_half_written_stays(
    tmp_path: Path,
) -> None:
    old = Heartbeat("keeper", 7, 1_000)
    write_heartbeat(tmp_path, old)
    before = (tmp_path / "keeper.json").stat().st_mtime_ns

    with full_disk(), pytest.raises(OSError, match="too large"):
        write_heartbeat(tmp_path, Heartbeat("keeper", 7, 2_000))

    assert read_heartbeats(tmp_path) == [old]
    assert (tmp_path / "keeper.json").stat().st_mtime_ns > before
    assert [path.name for path in tmp_path.iterdir()] == ["keeper.json"]


def test_a_service_beats_again_when_there_is_room_again(tmp_path: Path) -> None:
    async def beat_through_a_full_disk() -> int:
        beating = asyncio.create_task(_write_heartbeats(tmp_path, "collector-1", lambda: False))
        with full_disk():
            await asyncio.sleep(0.1)
        silent = len(read_heartbeats(tmp_path))
        async with asyncio.timeout(5):
            while not read_heartbeats(tmp_path):  # noqa: ASYNC110 - a file sets no event
                await asyncio.sleep(0.05)
        assert not beating.done()
        beating.cancel()
        return silent

    assert asyncio.run(beat_through_a_full_disk()) == 0


def test_only_the_own_heartbeat_is_removed_at_the_end(tmp_path: Path) -> None:
    write_heartbeat(tmp_path, Heartbeat("worker-1", 2**22 + 1, 1_000))

    remove_heartbeat(tmp_path, "worker-1")
    remove_heartbeat(tmp_path, "worker-2")

    assert [heartbeat.process for heartbeat in read_heartbeats(tmp_path)] == ["worker-1"]


def test_workers_that_a_full_disk_ended_are_missed_by_those_who_ask(tmp_path: Path) -> None:
    at = (PartitionProgress("events", 0, 5, 5),)
    write_heartbeat(tmp_path, Heartbeat("query-1", 7, 1_000))
    assert silence(tmp_path, 900_000) is None  # nobody ever stored here

    write_heartbeat(tmp_path, Heartbeat("worker-1", 8, 60_000, progress=at))
    write_heartbeat(tmp_path, Heartbeat("worker-2", 9, 70_000, progress=at))

    assert silence(tmp_path, 100_000) is None
    assert silence(tmp_path, 112_345) == (
        "no worker has reported for 42 s; what is new is not stored"
    )
