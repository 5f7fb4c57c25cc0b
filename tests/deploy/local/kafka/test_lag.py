"""The lag is what Kafka has and the table does not."""

import asyncio
from pathlib import Path

from aiokafka import AIOKafkaProducer, TopicPartition

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.lag import topic_lags, unread_offsets
from deploy.local.kafka.offsets import TablePosition, TopicOffsets
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from tests.installation import format_storage, free_port


def test_unread_messages_begin_at_the_next_offset_of_the_table() -> None:
    kafka = TopicOffsets(None, first={0: 0, 1: 10, 2: 0, 3: 5}, end={0: 7, 1: 12, 2: 4, 3: 5})
    position = TablePosition(1, True, {0: 3, 1: 2, 2: 4})

    assert unread_offsets("events", kafka, position) == {
        TopicPartition("events", 0): 3,
        TopicPartition("events", 1): 10,  # the others before it were deleted
    }
    assert unread_offsets("events", kafka, None)[TopicPartition("events", 2)] == 0


def test_the_lag_is_known_without_any_worker(tmp_path: Path) -> None:
    format_storage(tmp_path / "broker")
    with Broker(tmp_path / "broker", free_port(), free_port()) as broker:
        settings = Settings(data_dir=str(tmp_path), kafka=broker.address)
        ensure_topics(broker.address, required_topics(settings))
        sent_ms = now_ms() - 60_000

        async def send() -> None:
            producer = AIOKafkaProducer(bootstrap_servers=broker.address)
            await producer.start()
            for number in range(5):
                await producer.send_and_wait(
                    "events", b"x", partition=number % 2, timestamp_ms=sent_ms + number * 1000
                )
            await producer.stop()

        asyncio.run(send())
        lags = topic_lags(settings, sent_ms + 30_000)

        assert (lags["events"].messages, lags["events"].seconds) == (5, 30.0)
        assert (lags["vitals"].messages, lags["vitals"].seconds) == (0, 0.0)


def test_without_kafka_nothing_is_known(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), kafka=f"127.0.0.1:{free_port()}")

    assert topic_lags(settings, now_ms()) == {}
