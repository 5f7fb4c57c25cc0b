"""What collectors acknowledged is compared with what workers received."""

from pathlib import Path

import pytest

from schemas.acknowledged_counts import (
    ACKNOWLEDGED_FOLDER,
    delete_old_hours,
    read_hours,
    write_hour,
)
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.topic_identity import TopicIdentity
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, PartitionProgress, write_heartbeat
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.recovery.reconciliation import WorkersBehind, findings, missing_items
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, named, settings

HOUR = 3_600_000


def level(config: Settings, behind: bool = False) -> None:
    """A worker says that all is stored, now and in the next moments; or that it is behind."""
    at = now_ms() + 5_000
    complete = {} if behind else {"events": at}
    write_heartbeat(
        config.data / "run",
        Heartbeat("worker-1", 1, at, "ready", (PartitionProgress("events", 0, 2, 2),), complete),
    )


def acknowledged(config: Settings, process: str, hour_ms: int = NOON_MS, **items: int) -> None:
    counts = {("events", subject): number for subject, number in items.items()}
    write_hour(config.data / ACKNOWLEDGED_FOLDER, hour_ms, process, counts)


def test_items_that_a_lost_kafka_took_along_are_named_and_counted(tmp_path: Path) -> None:
    config = settings(tmp_path)
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())
    drain.assign_topic(TopicIdentity("first", "home"), {0: 9})
    drain.write([a_message(0, named("a", "b")), a_message(1, named("c"))])
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())
    drain.assign_topic(TopicIdentity("second", "home"), {0: 9})
    other = an_envelope([{"name": "d"}], subject_id="w2")
    drain.write([a_message(0, named("x")), a_message(1, other)])
    # Two collectors: 3 + 1 of w1 are stored, and so is the one of w2; 5 + 2 more were told so.
    acknowledged(config, "collector-1-0-1", w1=6, w2=1)
    acknowledged(config, "collector-2-0-1", w1=3)
    acknowledged(config, "collector-2-9-2", hour_ms=NOON_MS - HOUR, w1=2)
    level(config)

    lost = missing_items(config)

    assert [(m.topic, m.hour_ms, m.items, m.acknowledged) for m in lost] == [
        ("events", NOON_MS - HOUR, 2, 2),
        ("events", NOON_MS, 5, 10),
    ]
    assert lost[1].by_subject == {"w1": 5}
    assert [(f.subject, f.problem) for f in findings(lost)][1] == (
        "events, hour of 2026-11-21T12:00Z",
        "5 of 10 acknowledged items were never received (w1: 5)",
    )
    assert [m.items for m in missing_items(config, since_ms=NOON_MS)] == [5]
    acknowledged(config, "collector-1-0-2", hour_ms=now_ms() // HOUR * HOUR, w1=1)
    assert [
        m.items for m in missing_items(config, wait_seconds=0.0, completed_hours_only=True)
    ] == [
        2,
        5,
    ]


def test_more_received_than_acknowledged_is_no_loss(tmp_path: Path) -> None:
    config = settings(tmp_path)
    drain = BatchWriter(config, CUSTOM_EVENT, Lookups())
    drain.write([a_message(0, named("a", "b"))])
    acknowledged(config, "collector-1-0-1", w1=1)  # killed before it wrote the last of it
    (config.data / ACKNOWLEDGED_FOLDER / "2026-11-21T12" / "torn.json").write_text(
        '[["events", "w1",'
    )
    level(config)

    assert missing_items(config) == []


def test_what_workers_are_yet_to_read_is_not_called_lost(tmp_path: Path) -> None:
    config = settings(tmp_path)
    acknowledged(config, "collector-1-0-1", w1=1)

    with pytest.raises(WorkersBehind, match="not yet stored all of events"):
        missing_items(config, wait_seconds=0.0)
    level(config, behind=True)
    with pytest.raises(WorkersBehind, match="not yet stored all of events"):
        missing_items(config, wait_seconds=0.0)


def test_the_account_is_forgotten_after_two_weeks(tmp_path: Path) -> None:
    config = settings(tmp_path)
    for days in (13, 15):
        acknowledged(config, "c", hour_ms=NOON_MS - days * 24 * HOUR, w1=1)

    delete_old_hours(config.data / ACKNOWLEDGED_FOLDER, NOON_MS)

    assert list(read_hours(config.data / ACKNOWLEDGED_FOLDER)) == [NOON_MS - 13 * 24 * HOUR]
