"""The Faust app: one agent for each kind of a lane."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import faust
from aiokafka.errors import KafkaError

from schemas.kinds import Kind
from schemas.lake.delta_table import DamagedLog
from schemas.lake.topic_identity import TopicIdentity, TopicIdentityClient
from schemas.runtime.settings import Settings
from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.message_queue import BatchLimits
from stream.consumer.progress import TopicPartition, WorkerProgress
from stream.faust_adapter import (
    PartitionOffsets,
    StartOffsets,
    batches,
    end_offset,
    table_offset_transport,
)
from stream.rows.decoder import KafkaMessage, split_batch
from stream.rows.quarantine import OffsetRange
from stream.runtime.errors import (
    FatalError,
    LogDamaged,
    OffsetOutOfRange,
    TopicReplaced,
    Unexpected,
    Unreachable,
)
from stream.writing.batch_writer import BatchWriter

log = logging.getLogger(__name__)

MAX_BATCH_MESSAGES = 256
"""Chunks in a batch at most; where they are small, that is what a second brings."""

MAX_BATCH_BYTES = 16 << 20
"""And bytes: more than 20,000 usual rows have, so that those end a batch. Storing a byte takes six
of memory while it lasts."""

MAX_ATTEMPTS = 5
RETRY_SECONDS = 0.5

EndProcess = Callable[[FatalError], None]
"""Ends the process."""

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Worker:
    """The app with what its agents share."""

    def __init__(
        self,
        settings: Settings,
        name: str,
        drains: Mapping[str, BatchWriter],
        end: EndProcess,
        group: str = "",
    ) -> None:
        self.settings = settings
        self.progress = WorkerProgress()
        self._writers = drains
        """By topic."""
        self._end = end
        self._identities = TopicIdentityClient(settings.brokers)
        self._locks = {topic: asyncio.Lock() for topic in drains}
        self._budget = FetchBudget()
        self.app = create_app(settings, name, set(drains), self.start_offsets, self._budget, group)
        self.app.on_partitions_revoked.connect(self.finish_batches)
        for drain in drains.values():
            self._add_agent(drain.kind)

    @property
    def topics(self) -> Collection[str]:
        """The topics that this worker reads."""
        return self._writers.keys()

    def _add_agent(self, kind: Kind) -> None:
        name = self.settings.topic(kind.topic)
        topic = self.app.topic(name, value_serializer="raw", key_serializer="raw")

        size = BatchLimits(
            MAX_BATCH_MESSAGES,
            MAX_BATCH_BYTES,
            self.settings.batch_rows,
            self.settings.batch_seconds,
        )

        @self.app.agent(topic, name=f"store_{kind.name}")
        async def store(arrivals: faust.StreamT[Any]) -> None:
            async for batch in batches(arrivals, size):
                await self._store(name, batch)

    async def _store(self, topic: str, batch: Sequence[KafkaMessage]) -> None:
        await self.check_topics([topic])
        for portion in split_batch(batch, self.settings.batch_rows, MAX_BATCH_BYTES):
            async with self._locks[topic]:
                if self.app.rebalancing:
                    return  # the rest is read again, by whoever gets its partitions
                stored = await self._run_in_thread(self._writers[topic].write, portion)
            self._budget.stored({(topic, m.partition): m.offset + 1 for m in portion})
            self.progress.batch_written(topic, stored.next_offsets, last_timestamps(portion))
            for message in portion:
                message.acknowledge()

    async def start_offsets(
        self, held: Mapping[TopicPartition, PartitionOffsets]
    ) -> dict[TopicPartition, int]:
        """Where to read on, for all partitions that were assigned."""
        topics = sorted({topic for topic, _ in held})
        try:
            identities = await topic_identities(self._identities, topics)
        except FatalError as surprise:
            self._end(surprise)
            raise
        nexts = await self._run_in_thread(lambda held: self._start_offsets(held, identities), held)
        self.progress.assign(nexts)
        return nexts

    async def _run_in_thread(self, work: Callable[[Argument], Result], given: Argument) -> Result:
        """Work in a thread, so that heartbeats go on; whatever goes wrong ends the process.

        Faust would restart the agent without what it held, and nothing would be stored any more.
        """
        try:
            return await asyncio.to_thread(work, given)
        except FatalError as surprise:
            self._end(surprise)
            raise
        except DamagedLog as damaged:
            self._end(LogDamaged(f"{damaged}; see tidemark doctor"))
            raise
        except Exception as error:
            log.exception("batch not stored")
            self._end(Unexpected(repr(error)))
            raise

    def _start_offsets(
        self,
        held: Mapping[TopicPartition, PartitionOffsets],
        identities: Mapping[str, TopicIdentity],
    ) -> dict[TopicPartition, int]:
        nexts: dict[TopicPartition, int] = {}
        for topic, drain in self._writers.items():
            ends = {p: bounds.next for (name, p), bounds in held.items() if name == topic}
            if ends:
                drain.assign_epoch(identities.get(topic), ends)
            for partition, offset in drain.next_offsets(ends).items():
                place = topic, partition
                nexts[place] = self._start_offset(place, held[place], offset)
        return nexts

    def _start_offset(self, place: TopicPartition, held: PartitionOffsets, offset: int) -> int:
        """The table's next offset; the first that Kafka has when that is gone."""
        topic, partition = place
        if offset > held.next:
            raise OffsetOutOfRange(
                f"{topic}/{partition} ends at offset {held.next}, but its table goes to {offset}: "
                "Kafka lost what it had acknowledged, or the topic was made anew. To read it from "
                "its beginning, raise TIDEMARK_INGEST_EPOCH; what it still holds of the old "
                "messages is then stored twice, unless it bears an eventId"
            )
        if offset < held.first:
            log.error(
                "messages were gone from Kafka before they were read",
                extra={"topic": topic, "partition": partition, "from": offset, "to": held.first},
            )
            self._writers[topic].lost_ranges[partition] = OffsetRange(offset, held.first)
            return held.first
        return offset

    async def check_topics(self, topics: Iterable[str]) -> None:
        """End when a topic is another one by now than when its partitions were assigned.

        Asked between fetching a batch and storing it: a topic that is still the same now was the
        same when the batch was fetched. When Kafka is away, nobody can have made it anew.
        """
        try:
            seen = await self._identities.fetch(topics)
        except KafkaError:
            return
        for topic, identity in seen.items():
            assigned = self._writers[topic].identity
            if assigned is not None and identity != assigned:
                self._end(TopicReplaced(f"{topic} was {assigned}, and is {identity}"))

    async def finish_batches(self, *_: Any, **__: Any) -> None:
        """Let batches under way end before their partitions go to another worker.

        Else that worker reads on from a next offset that is about to move, and is fenced. Not for
        ever: after a session's time the other one goes first, and this one is fenced.
        """
        try:
            async with asyncio.timeout(self.settings.session_seconds):
                for lock in self._locks.values():
                    async with lock:
                        continue
        except TimeoutError:
            log.warning("a batch outlasts the rebalance")

    def update_progress(self) -> None:
        """Note how far Kafka is with what this worker holds; Stuck when nothing gets on."""
        app = self.app
        self.progress.note_membership(app.consumer_generation_id > 0 and not app.rebalancing)
        ends: dict[TopicPartition, int] = {}
        for place in self.progress.partitions():
            end = end_offset(app, *place)
            if end is not None:
                ends[place] = end
        self.progress.note_end_offsets(ends)
        self.progress.note_scan(sum(drain.files_scanned for drain in self._writers.values()))
        self.progress.raise_if_stuck()


async def topic_identities(
    identities: TopicIdentityClient, topics: Sequence[str]
) -> Mapping[str, TopicIdentity]:
    """Which topics these are; Unreachable when Kafka does not answer."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            found = await identities.fetch(topics)
        except KafkaError as away:
            if attempt == MAX_ATTEMPTS - 1:
                raise Unreachable(str(away)) from away
        else:
            if len(found) in (0, len(topics)):  # a broker may not have heard of each yet
                return found
        await asyncio.sleep(RETRY_SECONDS)
    return found


def last_timestamps(batch: Sequence[KafkaMessage]) -> dict[int, int]:
    """When Kafka took the last message of each partition, Unix milliseconds."""
    return {m.partition: m.timestamp_ms for m in sorted(batch, key=lambda m: m.offset)}


def create_app(
    settings: Settings,
    name: str,
    topics: set[str],
    positions: StartOffsets,
    budget: FetchBudget,
    group: str = "",
) -> faust.App:
    """The app with the settings that make its losses impossible or harmless."""
    session = settings.session_seconds
    folder = settings.data / "run" / "faust" / name
    folder.mkdir(parents=True, exist_ok=True)
    app = faust.App(
        settings.consumer_group + group,
        broker=";".join(f"kafka://{address}" for address in settings.brokers.split(",")),
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
        broker_request_timeout=session + 5,  # after an outage, reading goes on that much later
        broker_rebalance_timeout=2 * session,
    )
    app.transport = table_offset_transport(app, topics, positions, budget)
    return app
