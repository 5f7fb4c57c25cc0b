"""The seam to Faust: batches that wait for our acknowledgement, and a consumer that asks the table.

Faust's `take` and `events` acknowledge a batch even when storing it raised, and `noack_take`, which
does not, counts messages and no bytes; so batches are gathered here, without acknowledgements.
Kafka's committed offsets are for dashboards only: on every assignment `LedgerConsumer` seeks to the
next offsets that the tables hold, wherever Faust itself would seek to the committed ones.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, cast

import faust
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.events import EventT
from msgspec import Struct

from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.message_queue import BatchLimits, MessageQueue
from stream.rows.decoder import KafkaMessage, items_of
from stream.runtime.errors import Unreachable

log = logging.getLogger(__name__)

FETCH_SECONDS = 0.1
"""How long a fetch waits. Faust leaves a partition out of a fetch while its buffer is full and does
not wake that fetch when there is room again: with its own second, every full buffer costs one."""

MAX_FETCH_WAIT_MS = 250
"""How long the broker may hold a fetch for which it has nothing. While it does, what waits in a
topic partition that the fetch does not name is not fetched; Faust says one and a half seconds."""
MAX_FETCH_BYTES = 8 << 20
"""In one answer of the broker at most, but for one message."""
MESSAGE_OVERHEAD_BYTES = 2_048
"""Bytes of memory that a message takes besides its own."""
FULL_PAUSE_SECONDS = 0.1
"""How long to wait for room at most when so much waits that nothing may be fetched."""


class PartitionOffsets(Struct, frozen=True):
    """What Kafka holds of a topic partition: offsets first to next - 1."""

    first: int
    next: int


StartOffsets = Callable[
    [Mapping[tuple[str, int], PartitionOffsets]], Awaitable[Mapping[tuple[str, int], int]]
]
"""Where to read on, by topic and partition, given what Kafka holds of each."""


async def batches(
    arrivals: faust.StreamT[Any], size: BatchLimits
) -> AsyncIterator[Sequence[KafkaMessage]]:
    """Messages of the present assignment, taken together and never acknowledged here.

    What was fetched before a rebalance is passed over: its partition may be another worker's now,
    and if it is not, it is read again.
    """
    stream = cast(faust.Stream[Any], arrivals)
    stream.enable_acks = False
    queue = MessageQueue(size)
    gathering = asyncio.create_task(_fill_queue(stream, queue))
    try:
        while not gathering.done():
            with suppress(TimeoutError):
                async with asyncio.timeout(size.seconds):
                    await queue.batch_ready.wait()
            if batch := queue.take(stream.app.consumer_generation_id):
                yield batch
        gathering.result()
    finally:
        gathering.cancel()


async def _fill_queue(stream: faust.Stream[Any], queue: MessageQueue) -> None:
    """Take all that comes, while batches are stored; the fetch budget bounds how much it is."""
    async for _ in stream:
        if (event := stream.current_event) is not None:
            queue.add(_to_message(event), event.message.generation_id)


def _to_message(event: EventT[Any]) -> KafkaMessage:
    message = event.message
    body = message.value or b""
    return KafkaMessage(
        partition=message.partition,
        offset=message.offset,
        timestamp_ms=int(message.timestamp * 1000),
        body=body,
        acknowledge=event.ack,
        items=items_of(body),
    )


def table_offset_transport(
    app: faust.App, topics: Set[str], positions: StartOffsets, budget: FetchBudget
) -> driver.Transport:
    """A transport whose consumer reads on where `positions` says, as far as the budget allows."""

    class FetchingThread(driver.AIOKafkaConsumerThread):
        def _create_worker_consumer(self, *given: Any) -> AIOKafkaConsumer:
            consumer = super()._create_worker_consumer(*given)
            # Faust has no settings for these.
            consumer._fetch_max_wait_ms = MAX_FETCH_WAIT_MS
            consumer._fetch_max_bytes = MAX_FETCH_BYTES
            return consumer

    class LedgerConsumer(driver.Consumer):
        def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
            return FetchingThread(self, loop=self.loop, beacon=self.beacon)

        async def seek_to_committed(self) -> Mapping[TP, int]:
            """Every start, restart and rebalance comes through here."""
            offsets = dict(await super().seek_to_committed())
            assigned = [tp for tp in self.assignment() if tp.topic in topics]
            if assigned:
                wanted = await positions(await self._bounds(assigned))
                seeks = {TP(*place): offset for place, offset in wanted.items()}
                await self.seek_wait(seeks)
                offsets.update(seeks)
            budget.clear()
            return offsets

        async def _bounds(self, assigned: Sequence[TP]) -> dict[tuple[str, int], PartitionOffsets]:
            firsts = await self.earliest_offsets(*assigned)
            nexts = await self.highwaters(*assigned)
            return {
                (tp.topic, tp.partition): PartitionOffsets(firsts[tp], nexts[tp]) for tp in assigned
            }

        async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Any]]:  # noqa: ASYNC109
            async for arrival in super().getmany(min(timeout, FETCH_SECONDS)):
                yield arrival

        async def _getmany(
            self,
            active_partitions: set[TP] | None,
            timeout: float,  # noqa: ASYNC109
        ) -> Mapping[TP, Any]:
            open_ = {tp for tp in active_partitions or () if budget.allows(tp)}
            if not open_:
                await budget.room(FULL_PAUSE_SECONDS)
                return {}
            records: Mapping[TP, Any] = await super()._getmany(open_, timeout)
            for tp, found in records.items():
                budget.fetched(
                    tp, [(r.offset, len(r.value or b"") + MESSAGE_OVERHEAD_BYTES) for r in found]
                )
            return records

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


async def topics_exist(brokers: str, topics: Set[str], pause: float = 0.2) -> None:
    """Wait until Kafka answers and has all topics; they are made by `deploy`, never here."""
    said = ""
    while missing := await _missing(brokers, topics):
        if missing != said:
            log.info("waiting for topics", extra={"missing": missing, "kafka": brokers})
        said = missing
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
