"""Watermarks of topics follow from Kafka's end offsets over time."""

import asyncio
from pathlib import Path

from aiokafka import AIOKafkaProducer

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from query.engine.table_offsets import TableOffsets
from query.engine.topic_watermarks import MAX_SAMPLES, EndOffsets, Measurement, TopicWatermarks
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.installation import eventually, format_storage, free_port
from tests.query.lake import Lake


async def send(broker: str, partition: int, at_ms: int, count: int = 1) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker)
    await producer.start()
    try:
        for number in range(count):
            await producer.send_and_wait(
                "events", b"x", partition=partition, timestamp_ms=at_ms + number
            )
    finally:
        await producer.stop()


def test_watermarks_follow_the_tables_whoever_writes_them(tmp_path: Path) -> None:
    format_storage(tmp_path / "broker")
    lake = Lake(tmp_path / "lake")
    with Broker(tmp_path / "broker", free_port(), free_port()) as broker:
        settings = Settings(data_dir=str(tmp_path), kafka=broker.address)
        ensure_topics(settings, required_topics(settings))
        offsets = TableOffsets(settings.lake_url, "", 1)
        watermarks = TopicWatermarks(settings, offsets, now_ms)

        async def measured() -> int:
            await watermarks.measure()
            found = watermarks.watermark("events", now_ms())
            assert found is not None
            return found

        async def follow() -> None:
            started = now_ms()
            assert await measured() >= started  # nothing was ever sent

            await send(broker.address, 0, started)
            await send(broker.address, 5, started)
            lake.moves(EVENTS, 0, 1)  # as the worker of one machine
            before = watermarks.watermark("events", now_ms())
            assert await measured() == before  # the other machine has not stored its partition
            lake.moves(EVENTS, 5, 1)
            assert await measured() > now_ms() - 30_000
            assert await measured() != before
            await watermarks.close()

        async def follow_backlog() -> None:
            """A query service that starts when no worker has run for long."""
            sent_ms = now_ms() - 3_600_000
            await send(broker.address, 3, sent_ms, count=5)
            assert await measured() == sent_ms
            lake.moves(EVENTS, 3, 5)
            assert await measured() > now_ms() - 60_000
            await watermarks.close()

        asyncio.run(follow())
        watermarks = TopicWatermarks(settings, offsets, now_ms)
        asyncio.run(follow_backlog())


def test_without_kafka_the_reason_is_given_and_no_request_waits(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), kafka=f"127.0.0.1:{free_port()}")
    watermarks = TopicWatermarks(settings, TableOffsets(settings.lake_url, "", 1), now_ms)

    async def measuring() -> str:
        task = asyncio.create_task(watermarks.run())
        await asyncio.to_thread(eventually, lambda: bool(watermarks.error), 60)
        task.cancel()
        return watermarks.error

    assert "127.0.0.1" in asyncio.run(measuring())
    assert watermarks.watermark("events", now_ms()) is None
    assert "Kafka has not answered yet" in str(watermarks.stale_reason())


def sampled(*samples: tuple[int, int]) -> EndOffsets:
    ends = EndOffsets()
    for at_ms, end in samples:
        ends.add(at_ms, end)
    return ends


def test_a_table_is_complete_until_the_last_end_that_it_has_reached() -> None:
    ends = sampled((1_000, 5), (2_000, 9), (3_000, 12))

    assert ends.stored_until(4) is None
    assert ends.stored_until(5) == 1_000
    assert ends.stored_until(11) == 2_000
    assert ends.stored_until(12) == 3_000


def test_while_nothing_arrives_it_stays_complete_until_now() -> None:
    assert sampled((1_000, 5), (2_000, 5), (9_000, 5)).stored_until(5) == 9_000


def test_the_ends_of_a_topic_that_was_deleted_do_not_count() -> None:
    ends = sampled((1_000, 500), (2_000, 3))

    assert ends.stored_until(2) is None
    assert ends.stored_until(3) == 2_000


def test_a_long_backlog_makes_the_watermark_coarser_and_never_later() -> None:
    count = 5 * MAX_SAMPLES
    ends = sampled(*((second * 1_000, second * 10) for second in range(count)))

    found = ends.stored_until(7_000)

    assert found is not None
    assert 0 <= found <= 700_000
    assert ends.stored_until(count * 10) == (count - 1) * 1_000


def test_the_side_tables_are_as_complete_as_the_least_complete_table() -> None:
    measurement = Measurement(1_000, {"events": 900, "vitals": 400})

    assert [measurement.of(name) for name in ("events", "ledger", "quarantine")] == [900, 400, 400]
    assert Measurement(1_000, {}).of("ledger") is None
