"""How fresh an answer says it is."""

import asyncio
from pathlib import Path

import pytest

from query.engine.freshness import Freshness, FreshnessTracker
from query.engine.snapshots import PinnedVersion
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.runtime.heartbeat import Heartbeat, PartitionProgress, write_heartbeat
from schemas.tables import CLICKS, EVENTS, Table

NOW = 1_796_000_000_000


def pinned(received: int | None, table: Table = EVENTS, looked: int = NOW) -> PinnedVersion:
    parts = () if received is None else (DataFile("p", "2026-11-30", 1, 1, None, None, received),)
    return PinnedVersion(TableVersion(table, 1, parts), looked)


def worker(name: str, *partitions: int, level: int | None, at: int = NOW) -> Heartbeat:
    progress = tuple(PartitionProgress("events", n, 7, 7) for n in partitions)
    since = {} if level is None else {"events": level}
    return Heartbeat(name, 1, at, "ready", progress, since)


def freshness(
    run: Path, pins: list[PinnedVersion], *heartbeats: Heartbeat, prefix: str = ""
) -> Freshness:
    for heartbeat in heartbeats:
        write_heartbeat(run, heartbeat)
    return asyncio.run(FreshnessTracker(run, lambda: NOW, prefix).freshness_of(pins))


@pytest.mark.parametrize(
    ("heartbeats", "seconds"),
    [
        ([], 60.0),
        ([worker("w1", 0, 1, level=NOW - 1_500)], 1.5),
        ([worker("w1", 0, level=NOW - 1_500), worker("w2", 1, level=NOW - 2_000)], 2.0),
        # one worker has never been level
        ([worker("w1", 0, level=NOW - 1_500), worker("w2", 1, level=None)], 60.0),
        # partition 0 has no holder
        ([worker("w2", 1, level=NOW - 1_500)], 60.0),
        # the heartbeat is of a worker that is gone
        ([worker("w1", 0, 1, level=NOW - 20_000, at=NOW - 20_000)], 60.0),
        # a process that holds nothing says nothing
        ([worker("w1", 0, level=NOW - 500), worker("keeper", level=None)], 0.5),
        # the newest row does not hide that a partition is behind
        ([worker("w1", 0, level=NOW - 90_000)], 90.0),
    ],
)
def test_the_watermark_is_the_newest_row_or_the_workers_word(
    tmp_path: Path, heartbeats: list[Heartbeat], seconds: float
) -> None:
    found = freshness(tmp_path, [pinned(NOW - 60_000)], *heartbeats)

    assert found.lag_seconds == seconds


def test_what_was_stored_after_the_look_is_not_claimed(tmp_path: Path) -> None:
    looked_before = pinned(NOW - 60_000, looked=NOW - 200)

    found = freshness(tmp_path, [looked_before], worker("w1", 0, level=NOW))

    assert found == Freshness("2026-11-30T00:53:19.800Z", 0.2)


def test_an_answer_is_as_fresh_as_its_least_fresh_table(tmp_path: Path) -> None:
    assert freshness(tmp_path, [pinned(NOW - 1_000), pinned(NOW - 3_000, CLICKS)]) == Freshness(
        "2026-11-30T00:53:17.000Z", 3.0
    )


def test_nothing_is_said_when_nothing_was_ever_stored(tmp_path: Path) -> None:
    assert freshness(tmp_path, [pinned(None)]) == Freshness(None, None)
    assert freshness(tmp_path, []) == Freshness(None, None)


def test_topics_are_known_by_their_name_in_kafka(tmp_path: Path) -> None:
    heartbeat = Heartbeat(
        "w", 1, NOW, "ready", (PartitionProgress("t1.events", 0, 1, 1),), {"t1.events": NOW}
    )

    assert freshness(tmp_path, [pinned(None)], heartbeat, prefix="t1.").lag_seconds == 0.0
