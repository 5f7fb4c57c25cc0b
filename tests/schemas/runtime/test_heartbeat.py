"""Heartbeats on a full disk: processes go on, and no temporary file is left."""

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


def test_a_full_disk_touches_the_old_heartbeat_and_leaves_no_temporary_file(
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


def test_a_heartbeat_is_written_again_when_the_disk_has_space(tmp_path: Path) -> None:
    async def beat_through_a_full_disk() -> int:
        beating = asyncio.create_task(
            _write_heartbeats(tmp_path, "collector-1", lambda: "Kafka is away", lambda: None)
        )
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


def test_a_process_removes_only_its_own_heartbeat(tmp_path: Path) -> None:
    write_heartbeat(tmp_path, Heartbeat("worker-1", 2**22 + 1, 1_000))

    remove_heartbeat(tmp_path, "worker-1")
    remove_heartbeat(tmp_path, "worker-2")

    assert [heartbeat.process for heartbeat in read_heartbeats(tmp_path)] == ["worker-1"]


def test_health_reports_workers_that_ended_on_a_full_disk(tmp_path: Path) -> None:
    at = (PartitionProgress("events", 0, 5, 5),)
    write_heartbeat(tmp_path, Heartbeat("query-1", 7, 1_000))
    assert silence(tmp_path, 900_000) is None  # nobody ever stored here

    write_heartbeat(tmp_path, Heartbeat("worker-1", 8, 60_000, progress=at))
    write_heartbeat(tmp_path, Heartbeat("worker-2", 9, 70_000, progress=at))

    assert silence(tmp_path, 100_000) is None
    assert silence(tmp_path, 112_345) == (
        "no worker has reported for 42 s; what is new is not stored"
    )
