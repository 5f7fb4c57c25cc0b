"""Partition queues: what shares a chunk, what is sent alone, and the reports."""

import asyncio
from collections.abc import Callable, Coroutine

from ingest.publishing.partition_queue import (
    LINGER_SECONDS,
    DeliveryReport,
    DeliveryStatus,
    InFlightBytes,
    PartitionQueue,
    PendingDelivery,
)
from schemas.envelope import Envelope, decode_chunk, encode_envelope
from schemas.kafka.request_ids import HEADER, MAX_IDS, Headers
from schemas.runtime.request_id import REQUEST_ID

TIMEOUT_SECONDS = 1.0
"""Longer than a busy machine holds a test up."""

Test = Callable[["Kafka"], Coroutine[None, None, None]]


class Kafka:
    """Acknowledges each message when the test says so."""

    def __init__(self) -> None:
        self.messages: list[list[str]] = []
        self.headers: list[Headers] = []
        self.reports: list[asyncio.Future[DeliveryReport]] = []
        self.in_flight_bytes = InFlightBytes(10_000)
        self.queue = PartitionQueue(
            "events",
            3,
            self.deliver,
            self.in_flight_bytes,
            chunk_bytes=200,
            timeout_seconds=TIMEOUT_SECONDS,
        )

    async def deliver(
        self, topic: str, partition: int, message: bytes, headers: Headers
    ) -> DeliveryReport:
        assert (topic, partition) == ("events", 3)
        self.headers.append(headers)
        self.messages.append([e.subject_id for e in decode_chunk(message).envelopes])
        self.reports.append(asyncio.get_running_loop().create_future())
        return await self.reports[-1]

    def put(self, *subjects: str, size: int = 10) -> PendingDelivery:
        envelopes = [
            encode_envelope(Envelope(subject, "acme", 0, 1, b"[{}]")) for subject in subjects
        ]
        return self.queue.enqueue(envelopes, size, len(envelopes))

    def acknowledge(self) -> None:
        self.reports[-1].set_result(
            DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 3, len(self.messages) - 1)
        )


def run(test: Test) -> None:
    async def running() -> None:
        await test(Kafka())

    asyncio.run(running())


async def settle() -> None:
    """Let everything go as far as it can."""
    await asyncio.sleep(2 * LINGER_SECONDS)


def test_an_acknowledgement_closes_the_circuit_breaker() -> None:
    async def test(kafka: Kafka) -> None:
        kafka.put("a")
        await settle()
        kafka.queue.stalled = True
        while_stalled = kafka.queue.rejects_requests
        kafka.acknowledge()
        await settle()

        assert (while_stalled, kafka.queue.rejects_requests) == (True, False)

    run(test)


def test_requests_during_a_delivery_go_into_the_next_chunk() -> None:
    async def test(kafka: Kafka) -> None:
        first = kafka.put("a")
        await settle()
        later = [kafka.put("b"), kafka.put("c"), kafka.put("d")]
        await settle()
        assert kafka.messages == [["a"]]
        kafka.acknowledge()
        await settle()
        assert kafka.messages == [["a"], ["b", "c", "d"]]
        kafka.acknowledge()

        answers = [await ticket.report for ticket in (first, *later)]
        assert answers == [DeliveryReport(DeliveryStatus.ACKNOWLEDGED, 3, n) for n in (0, 1, 1, 1)]
        assert [ticket.first_position for ticket in (first, *later)] == [0, 0, 1, 2]

    run(test)


def test_a_message_names_its_first_requests() -> None:
    async def test(kafka: Kafka) -> None:
        kafka.put("a")
        await settle()
        for number in range(MAX_IDS + 5):
            REQUEST_ID.set(f"request-{number}")
            kafka.put("b")
        kafka.acknowledge()
        await settle()

        first = " ".join(f"request-{number}" for number in range(MAX_IDS))
        assert kafka.headers == [[], [(HEADER, f"{first} …".encode())]]

    run(test)


def test_a_request_is_never_split() -> None:
    async def test(kafka: Kafka) -> None:
        kafka.put("a", size=150)
        kafka.put("b", "c", size=100)
        await settle()
        kafka.acknowledge()
        await settle()

        assert kafka.messages == [["a"], ["b", "c"]]

    run(test)


def test_a_request_larger_than_a_chunk_is_sent_alone() -> None:
    async def test(kafka: Kafka) -> None:
        for subject, size in (("a", 10), ("huge", 5_000), ("b", 10)):
            kafka.put(subject, size=size)
        for _ in range(3):
            await settle()
            kafka.acknowledge()
        await settle()

        assert kafka.messages == [["a"], ["huge"], ["b"]]

    run(test)


def test_a_chunk_that_is_not_acknowledged_in_time_is_unknown() -> None:
    async def test(kafka: Kafka) -> None:
        under_way = kafka.put("a")
        await settle()
        waiting = kafka.put("b")

        assert await under_way.report == DeliveryReport(DeliveryStatus.UNKNOWN)
        # it never left, so that a retry of it cannot double anything
        assert await waiting.report == DeliveryReport(DeliveryStatus.NOT_SENT)
        kafka.acknowledge()
        await settle()
        assert kafka.messages == [["a"]]

    run(test)


def test_bytes_are_in_flight_until_kafka_responds_not_until_the_deadline() -> None:
    async def test(kafka: Kafka) -> None:
        await kafka.put("a", size=10_000).report
        assert not kafka.in_flight_bytes.fits(1)
        kafka.acknowledge()
        await settle()
        assert kafka.in_flight_bytes.fits(10_000)

    run(test)


def test_a_queue_reports_how_long_its_chunk_is_unacknowledged() -> None:
    async def test(kafka: Kafka) -> None:
        assert kafka.queue.unacknowledged_seconds() == 0.0
        await kafka.put("a").report
        # it was sent a moment after its timer began, and timers may end a little early
        assert kafka.queue.unacknowledged_seconds() > TIMEOUT_SECONDS - 0.05
        kafka.acknowledge()
        await settle()
        assert kafka.queue.unacknowledged_seconds() == 0.0

    run(test)
