"""The Faust app: one agent for each item kind of a worker role."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import faust
from aiokafka.errors import KafkaError

from schemas.kafka.trace_headers import sender_and_requests
from schemas.kinds import IMPORTED_EVENT, Kind
from schemas.lake.delta_table import DamagedLog
from schemas.lake.topic_identity import TopicIdentityClient
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import BATCH_ROWS, BATCH_SECONDS, STORED_ROWS
from schemas.telemetry.spans import Span, Traces, note, running
from stream.consumer.commit_pace import CommitPace, LiveWatch
from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.group_members import client_id
from stream.consumer.message_queue import BatchLimits
from stream.consumer.progress import TopicPartition, WorkerProgress
from stream.consumer.start_offsets import (
    KafkaOffsets,
    StartOffsets,
    assign_writers,
    fetch_with_retry,
)
from stream.faust_adapter import (
    batches,
    credentials,
    end_offset,
    table_offset_transport,
    wait_for_seeks,
)
from stream.rows.kafka_message import KafkaMessage, split_batch
from stream.runtime.errors import (
    FatalError,
    LogDamaged,
    TopicReplaced,
    Unexpected,
)
from stream.writing.batch_writer import BatchWriter, WriteResult

log = logging.getLogger(__name__)

MAX_BATCH_BYTES = 16 << 20
"""Bytes in a batch at most. 20,000 usual rows have fewer, so that their number ends a batch first.
Writing a batch takes six times its bytes of memory."""

EndProcess = Callable[[FatalError], None]
"""Ends the process with the error's exit code."""

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Worker:
    """The Faust app with the state that its agents share: writers, progress and fetch budget."""

    def __init__(
        self,
        settings: Settings,
        name: str,
        writers: Mapping[str, BatchWriter],
        end: EndProcess,
        group: str = "",
        lake: str = "",
    ) -> None:
        self.settings = settings
        self.progress = WorkerProgress()
        self._writers = writers
        """Batch writers by Kafka topic name; every `topic` here is such a name."""
        self._end = end
        self._topic_ids = TopicIdentityClient(settings)
        self._locks = {topic: asyncio.Lock() for topic in writers}
        self._budget = FetchBudget()
        self.app = create_app(settings, name, set(writers), self.start_offsets, self._budget, group)
        self.app.conf.broker_client_id = client_id(lake, name)
        self.app.on_partitions_revoked.connect(self.finish_batches)
        self.app.on_partitions_assigned.connect(self.note_assignment)
        for writer in writers.values():
            self._add_agent(writer.kind)

    @property
    def topics(self) -> Collection[str]:
        """The topics that this worker reads."""
        return self._writers.keys()

    def _add_agent(self, kind: Kind) -> None:
        topic = self.settings.topic(kind.topic)
        channel = self.app.topic(topic, value_serializer="raw", key_serializer="raw")

        limits = BatchLimits(
            MAX_BATCH_BYTES,
            self.settings.batch_rows,
            self.settings.batch_seconds,
        )

        # Imports come in bulk, and their commands wait for the last row.
        quiet_seconds = 0.0 if kind is IMPORTED_EVENT else self.settings.batch_quiet_seconds
        pace = CommitPace(quiet_seconds, LiveWatch(self.settings.lake_url, kind.table).is_live)

        @self.app.agent(channel, name=f"store_{kind.name}")
        async def store(stream: faust.StreamT[Any]) -> None:
            async for batch in batches(stream, limits, pace):
                await self._store(topic, batch)

    async def _store(self, topic: str, batch: Sequence[KafkaMessage]) -> None:
        await self.check_topics([topic])
        for part in split_batch(batch, self.settings.batch_rows, MAX_BATCH_BYTES):
            async with self._locks[topic]:
                if self.app.rebalancing:
                    return  # the rest is read again by the next owner of its partitions
                with BATCH_SECONDS.labels(topic).time(), batch_span(topic, part):
                    result = await self._run_in_thread(self._writers[topic].write, part)
                    note_result(result)
            _count_rows(topic, result)
            self._budget.stored({(topic, m.partition): m.offset + 1 for m in part})
            self.progress.batch_written(topic, result.next_offsets, last_timestamps(part))
            for message in part:
                message.acknowledge()

    async def start_offsets(self, kafka_offsets: KafkaOffsets) -> dict[TopicPartition, int]:
        """The offset from which to read each partition that was assigned."""
        topics = sorted({topic for topic, _ in kafka_offsets})
        try:
            topic_identities = await fetch_with_retry(self._topic_ids, topics)
        except FatalError as error:
            self._end(error)
            raise
        start_offsets = await self._run_in_thread(
            lambda offsets: assign_writers(self.settings, self._writers, offsets, topic_identities),
            kafka_offsets,
        )
        self.progress.assign(start_offsets)
        return start_offsets

    async def _run_in_thread(
        self, work: Callable[[Argument], Result], argument: Argument
    ) -> Result:
        """Run `work` in a thread, so that heartbeats continue; any error ends the process.

        Faust would restart the agent without its messages, and storing would stop silently.
        """
        try:
            return await asyncio.to_thread(work, argument)
        except FatalError as error:
            self._end(error)
            raise
        except DamagedLog as error:
            self._end(LogDamaged(f"{error}; run tidemark doctor"))
            raise
        except Exception as error:
            log.exception("batch not stored")
            self._end(Unexpected(repr(error)))
            raise

    async def check_topics(self, topics: Iterable[str]) -> None:
        """End the process when a topic was recreated since its partitions were assigned.

        Checked between fetching a batch and storing it: a topic that is the same now was the same
        when the batch was fetched. While Kafka is unreachable, no topic can be recreated.
        """
        try:
            topic_identities = await self._topic_ids.fetch(topics)
        except KafkaError:
            return
        for topic, present in topic_identities.items():
            assigned = self._writers[topic].topic_identity
            if assigned is not None and present != assigned:
                self._end(TopicReplaced(f"{topic} was {assigned}, and is {present}"))

    async def finish_batches(self, *_: Any, **__: Any) -> None:
        """Finish running batches before their partitions are revoked by a rebalance.

        Otherwise the next owner starts at an offset that is about to move, and is fenced. Waits for
        one session timeout at most: after that the next owner commits first and this one is fenced.
        """
        try:
            async with asyncio.timeout(self.settings.session_seconds):
                for lock in self._locks.values():
                    async with lock:
                        continue
        except TimeoutError:
            log.warning("batch still running after the rebalance timeout")

    async def note_assignment(self, _: Any, /, *assigned: Collection[Any], **__: Any) -> None:
        """Clear the progress when no partition is assigned: only a seek would replace it."""
        if not any(assigned):
            self.progress.assign({})

    def update_progress(self) -> None:
        """Record Kafka's end offsets of the assigned partitions; Stuck when nothing advances."""
        app = self.app
        self.progress.note_membership(app.consumer_generation_id > 0 and not app.rebalancing)
        end_offsets: dict[TopicPartition, int] = {}
        for topic_partition in self.progress.partitions():
            end = end_offset(app, *topic_partition)
            if end is not None:
                end_offsets[topic_partition] = end
        self.progress.note_end_offsets(end_offsets)
        self.progress.note_scan(sum(writer.files_scanned for writer in self._writers.values()))
        self.progress.raise_if_stuck()


def _count_rows(topic: str, result: WriteResult) -> None:
    BATCH_ROWS.labels(topic).observe(result.rows)
    STORED_ROWS.labels(topic, "stored").inc(result.rows)
    STORED_ROWS.labels(topic, "duplicate").inc(result.duplicates)
    STORED_ROWS.labels(topic, "quarantined").inc(result.quarantined)


def last_timestamps(batch: Sequence[KafkaMessage]) -> dict[int, int]:
    """Kafka's timestamp of the last message of each partition, Unix milliseconds."""
    return {m.partition: m.timestamp_ms for m in sorted(batch, key=lambda m: m.offset)}


def batch_span(topic: str, messages: Sequence[KafkaMessage]) -> AbstractContextManager[Span | None]:
    """The span of messages that are stored together; none where no request is recorded.

    It continues the trace of the first message that is, and links to the requests of all.
    """
    tracer = Traces.tracer
    if tracer is None:
        return nullcontext()
    sent = [sender_and_requests(message.spans) for message in messages if message.spans]
    links = [request for _, requests in sent for request in requests]
    span = tracer.batch(f"store {topic}", [sender for sender, _ in sent], links)
    if span is not None:
        span.note(
            {
                "messaging.system": "kafka",
                "messaging.destination.name": topic,
                "messaging.batch.message_count": len(messages),
                "tidemark.items": sum(message.items for message in messages),
                "tidemark.requests.recorded": len(links),
            }
        )
    return running(span)


def note_result(result: WriteResult) -> None:
    """Add what became of the items to the span of the batch."""
    note(
        {
            "tidemark.rows": result.rows,
            "tidemark.duplicates": result.duplicates,
            "tidemark.quarantined": result.quarantined,
        }
    )


def create_app(
    settings: Settings,
    name: str,
    topics: set[str],
    start_offsets: StartOffsets,
    budget: FetchBudget,
    group: str = "",
) -> faust.App:
    """The Faust app: no acknowledgement loses a message, and offsets come from the tables."""
    session = settings.session_seconds
    folder = settings.data / "run" / "faust" / name
    folder.mkdir(parents=True, exist_ok=True)
    app = faust.App(
        settings.consumer_group + group,
        broker=";".join(f"kafka://{address}" for address in settings.brokers.split(",")),
        broker_credentials=credentials(settings),
        datadir=folder,
        store="memory://",
        web_enabled=False,
        value_serializer="raw",
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=None,
        consumer_max_fetch_size=1_048_576,
        consumer_metadata_max_age_ms=10_000,
        stream_wait_empty=False,
        stream_buffer_maxsize=512,
        broker_session_timeout=session,
        broker_heartbeat_interval=session / 4,
        broker_request_timeout=session + 5,  # after an outage, reading resumes that much later
        broker_rebalance_timeout=2 * session,
    )
    app.transport = table_offset_transport(app, topics, start_offsets, budget)
    wait_for_seeks(app)
    return app
