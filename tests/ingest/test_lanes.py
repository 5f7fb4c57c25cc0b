"""Lanes: what shares a chunk, what goes alone, what comes of it."""

import asyncio
from collections.abc import Callable, Coroutine

from ingest.lanes import BREATH_SECONDS, Lane, Load, Outcome
from schemas.envelope import Envelope, open_chunk, seal

Test = Callable[["Kafka"], Coroutine[None, None, None]]


class Kafka:
    """Acknowledges a message when it is told to."""

    def __init__(self) -> None:
        self.messages: list[list[str]] = []
        self.answers: list[asyncio.Future[Outcome]] = []
        self.load = Load(10_000)
        self.lane = Lane("events", 3, self.deliver, self.load, chunk_bytes=200, seconds=0.1)

    async def deliver(self, topic: str, partition: int, message: bytes) -> Outcome:
        assert (topic, partition) == ("events", 3)
        self.messages.append([e.subject_id for e in open_chunk(message).envelopes])
        self.answers.append(asyncio.get_running_loop().create_future())
        return await self.answers[-1]

    def put(self, *subjects: str, size: int = 10) -> "asyncio.Future[Outcome]":
        envelopes = [seal(Envelope(subject, "acme", 0, 1, b"[{}]")) for subject in subjects]
        return self.lane.put(envelopes, size)

    def acknowledge(self) -> None:
        self.answers[-1].set_result(Outcome.ACKNOWLEDGED)


def run(test: Test) -> None:
    async def running() -> None:
        await test(Kafka())

    asyncio.run(running())


async def settle() -> None:
    """Let everything go as far as it can."""
    await asyncio.sleep(2 * BREATH_SECONDS)


def test_what_arrives_meanwhile_goes_into_the_next_chunk() -> None:
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

        outcomes = [await first, *[await answer for answer in later]]
        assert outcomes == [Outcome.ACKNOWLEDGED] * 4

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


def test_a_request_larger_than_a_chunk_goes_alone() -> None:
    async def test(kafka: Kafka) -> None:
        for subject, size in (("a", 10), ("huge", 5_000), ("b", 10)):
            kafka.put(subject, size=size)
        for _ in range(3):
            await settle()
            kafka.acknowledge()
        await settle()

        assert kafka.messages == [["a"], ["huge"], ["b"]]

    run(test)


def test_what_is_not_acknowledged_in_time_is_unknown() -> None:
    async def test(kafka: Kafka) -> None:
        under_way = kafka.put("a")
        await settle()
        waiting = kafka.put("b")

        assert await under_way is Outcome.UNKNOWN
        # it never left, so that a retry of it cannot double anything
        assert await waiting is Outcome.NOT_SENT
        kafka.acknowledge()
        await settle()
        assert kafka.messages == [["a"]]

    run(test)


def test_bytes_wait_until_kafka_has_answered_not_until_the_deadline() -> None:
    async def test(kafka: Kafka) -> None:
        answer = kafka.put("a", size=10_000)
        await answer
        assert not kafka.load.fits(1)
        kafka.acknowledge()
        await settle()
        assert kafka.load.fits(10_000)

    run(test)


def test_a_lane_knows_how_long_kafka_has_been_silent() -> None:
    async def test(kafka: Kafka) -> None:
        assert kafka.lane.age() == 0.0
        await kafka.put("a")
        assert kafka.lane.age() >= 0.1
        kafka.acknowledge()
        await settle()
        assert kafka.lane.age() == 0.0

    run(test)
