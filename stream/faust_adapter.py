"""Adapter of Faust: batches without acknowledgement, and a consumer that seeks to table offsets.

Faust's `take` and `events` acknowledge a batch even when storing it raised, and `noack_take`, which
does not, limits messages but not bytes; so batches are collected here, without acknowledgements.
Kafka's committed offsets are for dashboards only: on every assignment `TableOffsetConsumer` seeks
to the next offsets of the tables, wherever Faust itself would seek to the committed ones.

Faust takes 100 to 200 µs a message: a partition's records of one fetch travel through it as the
body of the last of them (`FetchedRecords`).
"""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from typing import Any, cast

import faust
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError, KafkaTimeoutError
from faust.tables import recovery
from faust.tables.manager import TableManager
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.events import EventT
from msgspec import Struct

from schemas.kafka.connection_problem import explain
from schemas.kafka.request_ids import request_ids
from schemas.kafka.trace_headers import spans_of
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.library_names import UnsupportedLibrary, require_names
from schemas.runtime.settings import Settings
from stream.consumer import aiokafka_fetch
from stream.consumer.aiokafka_fetch import TESTED_AIOKAFKA, FetchPace, limit_fetches, set_wait
from stream.consumer.commit_pace import CommitPace
from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.message_queue import MESSAGE_OVERHEAD_BYTES, BatchLimits, MessageQueue
from stream.consumer.start_offsets import PartitionOffsets, StartOffsets
from stream.rows.kafka_message import KafkaMessage, open_message
from stream.runtime.errors import IncompatibleLibrary, Unreachable

log = logging.getLogger(__name__)

FETCH_SECONDS = 0.1
"""Timeout of a fetch. Faust omits a partition from a fetch while its buffer is full and does not
wake that fetch when the buffer has room again: with its default of a second, every full buffer
costs one."""

FULL_PAUSE_SECONDS = 0.1
"""Longest pause while the fetch budget allows no partition."""

TESTED_FAUST = "0.15.3"
PRIVATE_NAMES: Mapping[type, Sequence[str]] = {
    TableManager: ("_recovery",),
    recovery.Recovery: ("_wait",),
    driver.AIOKafkaConsumerThread: ("_create_worker_consumer", "_fetch_records"),
    driver.Consumer: ("_gap", "_read_offset", "_getmany", "_new_consumer_thread"),
}


def check_libraries() -> None:
    """IncompatibleLibrary when Faust or aiokafka lacks a private attribute that we use."""
    try:
        require_names("faust-streaming", TESTED_FAUST, PRIVATE_NAMES)
        require_names("aiokafka", TESTED_AIOKAFKA, aiokafka_fetch.PRIVATE_NAMES)
    except UnsupportedLibrary as error:
        raise IncompatibleLibrary(str(error)) from error


async def batches(
    stream_: faust.StreamT[Any], limits: BatchLimits, pace: CommitPace
) -> AsyncIterator[Sequence[KafkaMessage]]:
    """Batches of the current assignment's messages, not acknowledged here.

    Messages fetched before a rebalance are discarded: their partition may belong to another worker
    now, and if it does not, they are read again.
    """
    stream = cast(faust.Stream[Any], stream_)
    stream.enable_acks = False
    queue = MessageQueue(limits)
    filling = asyncio.create_task(_fill_queue(stream, queue))
    try:
        while not filling.done():
            full = await queue.wait()
            if not queue.messages or not (full or pace.allows(queue.items, queue.awaited > 0)):
                continue
            if batch := queue.take(stream.app.consumer_generation_id):
                yield batch
        filling.result()
    finally:
        filling.cancel()


async def _fill_queue(stream: faust.Stream[Any], queue: MessageQueue) -> None:
    """Queue every fetched message while batches are stored; the fetch budget bounds their bytes."""
    async for _ in stream:
        if (event := stream.current_event) is not None:
            for message in _to_messages(event):
                queue.add(message, event.message.generation_id)


def _to_messages(event: EventT[Any]) -> Iterator[KafkaMessage]:
    """The event's messages with their chunks decoded; Faust's own copy of the bytes is released.

    Faust holds the event until it is acknowledged, which is after its batch was stored.
    """
    message = event.message
    body = cast(FetchedRecords, message.value)
    event.value = message.value = None
    return messages(message.partition, body, event.ack)


class FetchedRecord(Struct, frozen=True, gc=False):
    """The parts of a Kafka record that storing needs."""

    offset: int
    timestamp_ms: int
    body: bytes
    request_ids: bytes = b""
    spans: bytes = b""


class FetchedRecords(bytes):
    """The body of a Faust message that stands for several records; empty, as Faust needs bytes."""

    records: Sequence[FetchedRecord]


def as_one(records: Sequence[Any]) -> Any:
    """The last of a partition's records (of aiokafka), with all of them as its body."""
    body = FetchedRecords()
    body.records = [
        FetchedRecord(
            r.offset, r.timestamp, r.value or b"", request_ids(r.headers), spans_of(r.headers)
        )
        for r in records
    ]
    return dataclasses.replace(records[-1], value=body)


def messages(
    partition: int, body: FetchedRecords, acknowledge: Callable[[], Any]
) -> Iterator[KafkaMessage]:
    """The messages with their chunks decoded; the last one acknowledges all."""
    last = len(body.records) - 1
    for number, record in enumerate(body.records):
        acknowledge_it = acknowledge if number == last else nothing
        yield open_message(
            partition,
            record.offset,
            record.timestamp_ms,
            record.body,
            acknowledge_it,
            record.request_ids,
            record.spans,
        )


def nothing() -> None:
    """Acknowledge nothing: a later message does."""


class UntimedRecovery(recovery.Recovery):
    """Resumes reading after a rebalance when the seek is complete, however long it takes.

    Faust takes a seek of more than `broker_request_timeout` for its own stop: it leaves the loop
    that resumes reading, without a word, and the process keeps its partitions and never reads them.
    """

    logger = recovery.logger  # else it would log under this module's name

    async def _wait(self, coro: Any, timeout: Any = None) -> None:  # noqa: ARG002, ASYNC109
        await super()._wait(coro)


def wait_for_seeks(app: faust.App) -> None:
    """Let the app resume reading by `UntimedRecovery`; before its start."""
    tables = cast(TableManager, app.tables)
    tables._recovery = UntimedRecovery(app, tables, beacon=tables.beacon)


def table_offset_transport(
    app: faust.App, topics: Set[str], start_offsets: StartOffsets, budget: FetchBudget
) -> driver.Transport:
    """A transport whose consumer starts at `start_offsets` and fetches as the budget allows."""

    seeking = asyncio.Lock()
    pace = FetchPace()

    class FetchingThread(driver.AIOKafkaConsumerThread):
        def _create_worker_consumer(self, *args: Any) -> AIOKafkaConsumer:
            consumer = super()._create_worker_consumer(*args)
            limit_fetches(consumer)
            return consumer

        async def _fetch_records(
            self, consumer: AIOKafkaConsumer, *args: Any, **kwargs: Any
        ) -> Mapping[TP, Any]:
            """The fetched records; taking them sends the next fetch, with the wait set here."""
            set_wait(consumer, pace.next_wait())
            records: Mapping[TP, Any] = await super()._fetch_records(consumer, *args, **kwargs)
            if records:
                pace.note_messages()
            return records

    class TableOffsetConsumer(driver.Consumer):
        sought: tuple[int, frozenset[TP]] = (0, frozenset())
        """Generation of the consumer group and partitions of the last seek."""
        seeks: Mapping[TP, int] = {}

        def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
            return FetchingThread(self, loop=self.loop, beacon=self.beacon)

        async def seek_to_committed(self) -> Mapping[TP, int]:
            """Every start, restart and rebalance comes through here; at most one at a time.

            Faust seeks twice in most rebalances: before it reads on, and when a fetch returns that
            began before. The offsets of one assignment are looked up once, and those of an earlier
            one never come last. The offsets that Kafka has are not asked for: it would be a request
            for each partition.
            """
            async with seeking:
                assigned = frozenset(tp for tp in self.assignment() if tp.topic in topics)
                assignment = app.consumer_generation_id, assigned
                if not assigned:
                    return {}
                if assignment != self.sought:
                    starts = await start_offsets(await self._bounds(sorted(assigned)))
                    self.seeks = {
                        TP(*topic_partition): at for topic_partition, at in starts.items()
                    }
                    self.sought = assignment
                await self.seek_wait(self.seeks)
                budget.clear()
                return self.seeks

        async def _bounds(self, assigned: Sequence[TP]) -> dict[tuple[str, int], PartitionOffsets]:
            """Kafka's offsets; a busy broker may open new partitions after a request timed out."""
            while True:
                try:
                    firsts = await self.earliest_offsets(*assigned)
                    nexts = await self.highwaters(*assigned)
                except KafkaTimeoutError as error:
                    log.warning("offsets requested again", extra={"reason": str(error)})
                else:
                    return {
                        (tp.topic, tp.partition): PartitionOffsets(firsts[tp], nexts[tp])
                        for tp in assigned
                    }

        async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Any]]:  # noqa: ASYNC109
            async for tp, message in super().getmany(min(timeout, FETCH_SECONDS)):
                body = cast(FetchedRecords, message.value)
                self._note_first(tp, body.records[0].offset, message.offset)
                yield tp, message

        def _note_first(self, tp: TP, first: int, last: int) -> None:
            """Tell Faust that the offsets from `first` are in the message with the last of them.

            Otherwise it would take them for a gap, and commit nothing behind it.
            """
            read = self._read_offset[tp]
            if first < last and (read is None or first >= read):
                self._gap[tp].addi(first, last)
                self._read_offset[tp] = last - 1

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
            for tp, fetched in records.items():
                budget.fetched(
                    tp, [(r.offset, len(r.value or b"") + MESSAGE_OVERHEAD_BYTES) for r in fetched]
                )
            return {tp: [as_one(fetched)] for tp, fetched in records.items() if fetched}

    TableOffsetConsumer.logger = (
        driver.logger
    )  # else the subclass would log under this module's name

    class TableOffsetTransport(driver.Transport):
        Consumer = TableOffsetConsumer

    return TableOffsetTransport(app.conf.broker, app)


def end_offset(app: faust.App, topic: str, partition: int) -> int | None:
    """Kafka's end offset (high watermark) as of the last fetch; None when it is not known."""
    try:
        return app.consumer.highwater(TP(topic, partition))
    except AssertionError:  # how aiokafka reports that the partition was just revoked
        return None


def credentials(settings: Settings) -> faust.auth.Credentials | None:
    """TLS and login in Faust's form; None without either."""
    arguments = client_arguments(settings)
    tls = arguments.get("ssl_context")
    if "sasl_mechanism" in arguments:
        return faust.SASLCredentials(
            username=arguments["sasl_plain_username"],
            password=arguments["sasl_plain_password"],
            mechanism=arguments["sasl_mechanism"],
            ssl_context=tls,
        )
    return faust.SSLCredentials(tls) if tls else None


async def start(app: faust.App) -> None:
    """Start the app; Unreachable when Kafka does not answer."""
    try:
        await app.start()
    except KafkaError as error:
        raise Unreachable(str(error)) from error


async def topics_exist(settings: Settings, topics: Set[str], pause: float = 0.2) -> None:
    """Wait until Kafka answers and has all topics; `deploy` creates them, never a worker."""
    previous = ""
    while missing := await _missing(settings, topics):
        if missing != previous:
            log.info("waiting for topics", extra={"missing": missing, "kafka": settings.brokers})
        previous = missing
        await asyncio.sleep(pause)


async def _missing(settings: Settings, topics: Set[str]) -> str:
    consumer = AIOKafkaConsumer(**client_arguments(settings))
    try:
        await consumer.start()
        return ", ".join(sorted(topics - await consumer.topics()))
    except KafkaError as error:
        return f"all: {await explain(settings, error)}"
    finally:
        await consumer.stop()
