"""KafkaProducer in this process, on a real Kafka: a producer that fails is replaced."""

import asyncio
from pathlib import Path

import pytest
from aiokafka.errors import OutOfOrderSequenceNumber

from deploy.local.kafka.broker import Broker
from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus
from ingest.publishing.producer import KafkaProducer
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import PayloadTooLarge, Unavailable
from tests.ingest.collector_process import published_names, start_collector


def an_event(name: str) -> list[bytes]:
    return [encode_envelope(Envelope("shop", "acme", 0, 1, b'[{"name":"%b"}]' % name.encode()))]


async def ready(producer: KafkaProducer) -> None:
    async with asyncio.timeout(20):
        while producer.unavailable_reason is not None:  # noqa: ASYNC110 - it is no event, but a state
            await asyncio.sleep(0.02)


def test_a_producer_whose_sender_died_is_replaced(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(
        tmp_path, broker, produce_seconds=60
    )  # partitions may have no leader yet

    async def running() -> list[DeliveryReport]:
        producer = KafkaProducer(collector.settings, ["events"])
        producer.start()
        await ready(producer)
        reports = [await producer.enqueue("events", 1, an_event("before"), 1).report]
        assert producer._connection is not None
        # what aiokafka does when its sender ends with this error
        producer._connection.producer._message_accumulator.fail_all(OutOfOrderSequenceNumber())
        reports.append(await producer.enqueue("events", 1, an_event("lost"), 1).report)
        with pytest.raises(Unavailable):
            producer.enqueue("events", 1, an_event("refused"), 1)
        async with asyncio.timeout(20):
            while producer.partition_problem is not None:  # noqa: ASYNC110 - it is no event, but a state
                await asyncio.sleep(0.02)
        reports.append(await producer.enqueue("events", 1, an_event("after"), 1).report)
        assert (producer.counts.failed, producer.counts.producers_replaced) == (1, 1)
        await producer.close(5)
        return reports

    reports = asyncio.run(running())

    topic_id = reports[0].topic_id
    assert len(topic_id) == 22  # as Kafka's own tools write it
    assert reports == [
        DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 1, 0, topic_id),
        DeliveryReport(DeliveryStatus.NOT_SENT),
        DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 1, 1, topic_id),
    ]
    assert published_names(collector) == ["before", "after"]


def test_a_failed_read_of_topic_ids_fails_no_delivery(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker)

    async def running() -> list[DeliveryReport]:
        producer = KafkaProducer(collector.settings, ["events"])
        producer.start()
        await ready(producer)
        reports = [await producer.enqueue("events", 1, an_event("before"), 1).report]
        assert producer._connection is not None
        producer._connection.producer.client.get_random_node = lambda: 99  # which is unknown
        read_at = producer._topics_read_at = -1e9
        async with asyncio.timeout(60):
            while producer._topics_read_at == read_at:  # noqa: ASYNC110 - it is no event, but a state
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        reports.append(await producer.enqueue("events", 1, an_event("after"), 1).report)
        assert (producer.counts.failed, producer.counts.producers_replaced) == (0, 0)
        await producer.close(5)
        return reports

    before, after = asyncio.run(running())

    assert (before.status, after.status) == (
        DeliveryStatus.ACKNOWLEDGED,
        DeliveryStatus.ACKNOWLEDGED,
    )
    assert before.topic_id == after.topic_id


def test_a_request_larger_than_a_message_is_refused(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker)

    async def running() -> DeliveryStatus:
        producer = KafkaProducer(collector.settings, ["events"])
        producer.start()
        await ready(producer)
        with pytest.raises(PayloadTooLarge, match="fewer websites, at once"):
            producer.enqueue("events", 0, [bytes(1_000_000)] * 5, 5)
        report = await producer.enqueue("events", 0, [bytes(4_128_768)], 1).report
        assert producer.counts.failed == 0
        await producer.close(5)
        return report.status

    assert asyncio.run(running()) is DeliveryStatus.ACKNOWLEDGED


def test_bytes_in_flight_are_bounded(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker, in_flight_bytes=2_097_152)

    async def running() -> DeliveryStatus:
        producer = KafkaProducer(collector.settings, ["events"])
        producer.start()
        await ready(producer)
        pending = producer.enqueue("events", 0, [bytes(2_000_000)], 1)
        with pytest.raises(Unavailable, match="The Kafka queue is full"):
            producer.enqueue("events", 1, [bytes(200_000)], 1)
        report = await pending.report
        await producer.close(5)
        return report.status

    assert asyncio.run(running()) is DeliveryStatus.ACKNOWLEDGED
