"""The outbox in this process, on a real Kafka: a producer that fails for ever is replaced."""

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


async def ready(outbox: KafkaProducer) -> None:
    async with asyncio.timeout(20):
        while outbox.unavailable_reason is not None:  # noqa: ASYNC110 - it is no event, but a state
            await asyncio.sleep(0.02)


def test_a_producer_whose_sender_died_is_replaced(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker)

    async def running() -> list[DeliveryReport]:
        outbox = KafkaProducer(collector.settings, ["events"])
        outbox.start()
        await ready(outbox)
        answers = [await outbox.enqueue("events", 1, an_event("before"), 1).report]
        assert outbox._producer is not None
        # what aiokafka does when its sender ends with this error
        outbox._producer._message_accumulator.fail_all(OutOfOrderSequenceNumber())
        answers.append(await outbox.enqueue("events", 1, an_event("lost"), 1).report)
        with pytest.raises(Unavailable):
            outbox.enqueue("events", 1, an_event("refused"), 1)
        await ready(outbox)
        answers.append(await outbox.enqueue("events", 1, an_event("after"), 1).report)
        assert (outbox.counts.failed, outbox.counts.producers_replaced) == (1, 1)
        await outbox.close(5)
        return answers

    answers = asyncio.run(running())

    topic_id = answers[0].topic_id
    assert len(topic_id) == 22  # as Kafka's own tools write it
    assert answers == [
        DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 1, 0, topic_id),
        DeliveryReport(DeliveryStatus.NOT_SENT),
        DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 1, 1, topic_id),
    ]
    assert published_names(collector) == ["before", "after"]


def test_a_broker_that_is_away_while_ids_are_asked_for_costs_no_delivery(
    tmp_path: Path, broker: Broker
) -> None:
    collector = start_collector(tmp_path, broker)

    async def running() -> list[DeliveryReport]:
        outbox = KafkaProducer(collector.settings, ["events"])
        outbox.start()
        await ready(outbox)
        answers = [await outbox.enqueue("events", 1, an_event("before"), 1).report]
        assert outbox._producer is not None
        outbox._producer.client.get_random_node = lambda: 99  # one that nobody knows any more
        asked = outbox._topic_ids_read_at = -1e9
        async with asyncio.timeout(5):
            while outbox._topic_ids_read_at == asked:  # noqa: ASYNC110 - it is no event, but a state
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        answers.append(await outbox.enqueue("events", 1, an_event("after"), 1).report)
        assert (outbox.counts.failed, outbox.counts.producers_replaced) == (0, 0)
        await outbox.close(5)
        return answers

    before, after = asyncio.run(running())

    assert (before.status, after.status) == (
        DeliveryStatus.ACKNOWLEDGED,
        DeliveryStatus.ACKNOWLEDGED,
    )
    assert before.topic_id == after.topic_id


def test_a_request_that_no_message_holds_is_refused(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker)

    async def running() -> DeliveryStatus:
        outbox = KafkaProducer(collector.settings, ["events"])
        outbox.start()
        await ready(outbox)
        with pytest.raises(PayloadTooLarge, match="too many websites"):
            outbox.enqueue("events", 0, [bytes(1_000_000)] * 5, 5)
        answer = await outbox.enqueue("events", 0, [bytes(4_128_768)], 1).report
        assert outbox.counts.failed == 0
        await outbox.close(5)
        return answer.status

    assert asyncio.run(running()) is DeliveryStatus.ACKNOWLEDGED


def test_what_waits_for_kafka_is_bounded(tmp_path: Path, broker: Broker) -> None:
    collector = start_collector(tmp_path, broker, in_flight_bytes=2_097_152)

    async def running() -> DeliveryStatus:
        outbox = KafkaProducer(collector.settings, ["events"])
        outbox.start()
        await ready(outbox)
        taken = outbox.enqueue("events", 0, [bytes(2_000_000)], 1)
        with pytest.raises(Unavailable, match="The Kafka queue is full"):
            outbox.enqueue("events", 1, [bytes(200_000)], 1)
        answer = await taken.report
        await outbox.close(5)
        return answer.status

    assert asyncio.run(running()) is DeliveryStatus.ACKNOWLEDGED
