"""The lag is what Kafka has and the table does not."""

import asyncio
from pathlib import Path

from aiokafka import AIOKafkaProducer

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.offsets import topic_lags
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from tests.installation import format_storage, free_port


def test_the_lag_is_known_without_any_worker(tmp_path: Path) -> None:
    format_storage(tmp_path / "broker")
    with Broker(tmp_path / "broker", free_port(), free_port()) as broker:
        settings = Settings(data_dir=str(tmp_path), kafka=broker.address)
        ensure_topics(Settings(kafka=broker.address), required_topics(settings))
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
