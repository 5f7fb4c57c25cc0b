"""The seam to Faust: batches that wait for our acknowledgement, and a consumer that asks the table.

Faust's `take` and `events` acknowledge a batch even when storing it raised; `noack_take` does not.
Kafka's committed offsets are for dashboards only: on every assignment `LedgerConsumer` seeks to the
next offsets that the tables hold, wherever Faust itself would seek to the committed ones.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set
from typing import Any, cast

import faust
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.events import EventT
from msgspec import Struct

from stream.failures import Unreachable
from stream.opening import Arrived

log = logging.getLogger(__name__)

FETCH_SECONDS = 0.1
"""How long a fetch waits. Faust leaves a partition out of a fetch while its buffer is full and does
not wake that fetch when there is room again: with its own second, every full buffer costs one."""


class Bounds(Struct, frozen=True):
    """What Kafka holds of a topic partition: offsets first to next - 1."""

    first: int
    next: int


Positions = Callable[[Mapping[tuple[str, int], Bounds]], Awaitable[Mapping[tuple[str, int], int]]]
"""Where to read on, by topic and partition, given what Kafka holds of each."""


async def batches(
    arrivals: faust.StreamT[Any], messages: int, seconds: float
) -> AsyncIterator[Sequence[Arrived]]:
    """Messages of the present assignment, taken together when so many or so old.

    What was fetched before a rebalance is passed over: its partition may be another worker's now,
    and if it is not, it is read again.
    """
    stream = cast(faust.Stream[Any], arrivals)
    async for taken in stream.noack_take(messages, within=seconds):
        events = cast(Sequence[EventT[Any]], taken)
        generation = stream.app.consumer_generation_id
        own = [e for e in events if e.message.generation_id == generation]
        if own:
            yield [_arrived(event) for event in own]


def _arrived(event: EventT[Any]) -> Arrived:
    message = event.message
    return Arrived(
        partition=message.partition,
        offset=message.offset,
        timestamp_ms=int(message.timestamp * 1000),
        body=message.value or b"",
        acknowledge=event.ack,
    )


def ledger_transport(app: faust.App, topics: Set[str], positions: Positions) -> driver.Transport:
    """A transport whose consumer reads on where `positions` says."""

    class LedgerConsumer(driver.Consumer):
        async def seek_to_committed(self) -> Mapping[TP, int]:
            """Every start, restart and rebalance comes through here."""
            offsets = dict(await super().seek_to_committed())
            assigned = [tp for tp in self.assignment() if tp.topic in topics]
            if assigned:
                wanted = await positions(await self._bounds(assigned))
                seeks = {TP(*place): offset for place, offset in wanted.items()}
                await self.seek_wait(seeks)
                offsets.update(seeks)
            return offsets

        async def _bounds(self, assigned: Sequence[TP]) -> dict[tuple[str, int], Bounds]:
            firsts = await self.earliest_offsets(*assigned)
            nexts = await self.highwaters(*assigned)
            return {(tp.topic, tp.partition): Bounds(firsts[tp], nexts[tp]) for tp in assigned}

        async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Any]]:  # noqa: ASYNC109
            async for arrival in super().getmany(min(timeout, FETCH_SECONDS)):
                yield arrival

    LedgerConsumer.logger = driver.logger  # a subclass would log its life in our name

    class LedgerTransport(driver.Transport):
        Consumer = LedgerConsumer

    return LedgerTransport(app.conf.broker, app)


def end_offset(app: faust.App, topic: str, partition: int) -> int | None:
    """Offset of the next message, by the last fetch; None when that is not known."""
    try:
        return app.consumer.highwater(TP(topic, partition))
    except AssertionError:  # how aiokafka says that the partition was just taken away
        return None


async def start(app: faust.App) -> None:
    """Start the app; Unreachable when Kafka is not there."""
    try:
        await app.start()
    except KafkaError as away:
        raise Unreachable(str(away)) from away


async def topics_exist(brokers: str, topics: Set[str], pause: float = 1.0) -> None:
    """Wait until Kafka answers and has all topics; they are made by `deploy`, never here."""
    while missing := await _missing(brokers, topics):
        log.info("waiting for topics", extra={"missing": missing, "kafka": brokers})
        await asyncio.sleep(pause)


async def _missing(brokers: str, topics: Set[str]) -> str:
    consumer = AIOKafkaConsumer(bootstrap_servers=brokers)
    try:
        await consumer.start()
        return ", ".join(sorted(topics - await consumer.topics()))
    except KafkaError as away:
        return f"all: {away}"
    finally:
        await consumer.stop()
