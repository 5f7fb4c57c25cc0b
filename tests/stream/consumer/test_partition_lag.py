"""The lag of a worker by topic partition, as metrics."""

from prometheus_client import CollectorRegistry

from stream.consumer.progress import PartitionLag, WorkerProgress

NOW = 1_795_248_000_000


def test_a_backlog_grows_old_before_its_first_batch_is_stored() -> None:
    now = NOW
    progress = WorkerProgress(clock=lambda: now)
    progress.assign({("events", 0): 10})
    progress.note_end_offsets({("events", 0): 20})

    now += 7_000
    progress.note_end_offsets({("events", 0): 25})

    assert progress.lag_seconds("events", 0) == 7


def test_a_message_after_an_idle_hour_is_not_an_hour_late() -> None:
    now = NOW
    progress = WorkerProgress(clock=lambda: now)
    progress.assign({("events", 0): 10})
    progress.batch_written("events", {0: 12}, {0: NOW})
    now += 3_600_000
    progress.note_end_offsets({("events", 0): 12})

    now += 500
    progress.note_end_offsets({("events", 0): 13})

    assert progress.lag_seconds("events", 0) == 0.5


def test_lag_is_told_in_messages_and_seconds() -> None:
    progress = WorkerProgress(clock=lambda: NOW)
    progress.assign({("events", 0): 10, ("events", 1): 5})
    progress.batch_written("events", {0: 12}, {0: NOW - 4_500})
    progress.note_end_offsets({("events", 0): 20, ("events", 1): 5})
    registry = CollectorRegistry()
    registry.register(PartitionLag(progress))

    def value(name: str, partition: str) -> float | None:
        return registry.get_sample_value(name, {"topic": "events", "partition": partition})

    assert value("tidemark_lag_messages", "0") == 8
    assert value("tidemark_lag_seconds", "0") == 4.5
    assert value("tidemark_lag_messages", "1") == 0
    assert value("tidemark_lag_seconds", "1") == 0
