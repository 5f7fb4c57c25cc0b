"""Until when the tables have everything, from Kafka's end offsets.

Messages that were in Kafka at an instant lie before its end offset of that instant. So a table
whose next offset is not below it has everything that was acknowledged until then: no message is
read, and the clocks of other machines do not matter. True with any number of machines, and while no
worker is alive. It is measured in the background: no request waits for Kafka. While Kafka is away,
the last watermarks stay true and grow old.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from msgspec import Struct

from query.engine.table_offsets import TableOffsets
from schemas.errors import ApiError
from schemas.kinds import KINDS
from schemas.lake.topic_offsets import (
    TopicOffsets,
    read_timestamps,
    read_topic_offsets,
    unread_offsets,
)
from schemas.runtime.clock import Clock
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE
from schemas.telemetry.instruments import WATERMARK

MAX_SAMPLES = 240
"""End offsets that are kept for one partition; of older ones every second is dropped beyond it."""


class EndOffsets:
    """Samples of the end offsets of one topic partition."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque()
        """Instant and end offset, ascending in both; the last instant at which it was the end."""

    def add(self, at_ms: int, end: int) -> None:
        """Record the end offset as of an instant."""
        if self._samples and self._samples[-1][1] > end:
            self._samples.clear()  # the topic was recreated
        if self._samples and self._samples[-1][1] == end:
            self._samples.pop()
        self._samples.append((at_ms, end))
        if len(self._samples) > MAX_SAMPLES:
            samples = list(self._samples)
            self._samples = deque([*samples[:-2:2], *samples[-2:]])

    def stored_until(self, next_offset: int) -> int | None:
        """The last instant up to which everything is stored; None when it was before all samples.

        Earlier samples are dropped: the next offset of a table never falls.
        """
        while len(self._samples) > 1 and self._samples[1][1] <= next_offset:
            self._samples.popleft()
        if not self._samples or self._samples[0][1] > next_offset:
            return None
        return self._samples[0][0]


log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 5.0
STALE_AFTER_MS = 5_000
TIMESTAMPS_INTERVAL_MS = 5_000
"""How often messages are fetched for their timestamp, for a backlog of before the start."""
KEPT_MEASUREMENTS = 8
StoredByTable = Mapping[str, Mapping[int, int]]
"""Next offset by table and partition."""

SIDE_TABLES = (QUARANTINE.name, LEDGER.name)
"""Every batch is committed to them before it is committed to its main table."""
TOPIC_OF = {kind.table.name: kind.topic for kind in KINDS}

NOT_MEASURED = "Kafka has not answered yet: how much of it is stored is not known"


class Measurement(Struct, frozen=True):
    """The watermarks by table, as of one look at Kafka and then at the tables."""

    read_ms: int
    """When the tables had been read: versions that were checked later have the same commits."""
    watermarks: Mapping[str, int]

    def of(self, table: str) -> int | None:
        """The watermark of a table; the side tables, which all topics share, have the lowest."""
        if table in SIDE_TABLES:
            return min(self.watermarks.values(), default=None)
        return self.watermarks.get(table)


class TopicWatermarks:
    """Measures once a second until cancelled."""

    def __init__(self, settings: Settings, table_offsets: TableOffsets, clock: Clock) -> None:
        self._settings = settings
        self._table_offsets = table_offsets
        self._clock = clock
        self._admin: AIOKafkaAdminClient | None = None
        self._consumer: AIOKafkaConsumer | None = None
        self._ends: dict[TopicPartition, EndOffsets] = {}
        self._timestamps: dict[TopicPartition, int] = {}
        """Timestamps of the first unread messages by partition, if older than all end offsets."""
        self._timestamps_read_ms = 0
        self._measurements: deque[Measurement] = deque(maxlen=KEPT_MEASUREMENTS)
        self.error = ""
        """Why the last attempt failed; empty when it did not."""

    def watermark(self, table: str, checked_ms: int) -> int | None:
        """The watermark of a version that was checked then; None when it is not known."""
        for measurement in reversed(self._measurements):
            if measurement.read_ms <= checked_ms:
                return measurement.of(table)
        return None

    def newest(self) -> int | None:
        """The lowest of the newest watermarks of all tables."""
        newest = self._measurements[-1].watermarks if self._measurements else {}
        return min(newest.values(), default=None)

    def is_current(self, table: str, within_ms: int) -> bool:
        """Whether someone stores: the newest watermark of a table is not older than that."""
        newest = self._measurements[-1].watermarks.get(table) if self._measurements else None
        return newest is not None and self._clock() - newest < within_ms

    def stale_reason(self) -> str | None:
        """Why the watermarks are old or unknown; None when they are neither."""
        if not self._measurements:
            return NOT_MEASURED
        silent_ms = self._clock() - self._measurements[-1].read_ms
        if silent_ms < STALE_AFTER_MS:
            return None
        return f"Kafka has not answered for {silent_ms // 1000} s: newer data may be stored"

    async def run(self) -> None:
        """Measure until cancelled; log an error once."""
        try:
            while True:
                try:
                    async with asyncio.timeout(TIMEOUT_SECONDS):
                        await self.measure()
                except (KafkaError, OSError, TimeoutError) as error:
                    await self._note_error(str(error) or repr(error))
                else:
                    self.error = ""
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await self.close()

    async def measure(self) -> None:
        """Measure now; KafkaError when Kafka does not respond."""
        admin, consumer = await self._clients()
        asked_ms = self._clock()
        names = [self._settings.topic(topic) for topic in TOPIC_OF.values()]
        offsets = await read_topic_offsets(admin, consumer, names)
        for topic, of_topic in offsets.items():
            for partition, end in of_topic.end.items():
                at = TopicPartition(topic, partition)
                self._ends.setdefault(at, EndOffsets()).add(asked_ms, end)
        stored = await self._stored_offsets(offsets)
        read_ms = self._clock()
        await self._read_timestamps(consumer, offsets, stored)
        watermarks = {
            table: min(self._stored_until(offsets, table, stored[table])) for table in stored
        }
        self.add(Measurement(read_ms, watermarks))

    def add(self, measurement: Measurement) -> None:
        """Record a measurement; earlier ones stay for versions that were checked before it."""
        self._measurements.append(measurement)
        for table, watermark in measurement.watermarks.items():
            WATERMARK.labels(table).set(watermark / 1000)

    async def _stored_offsets(self, offsets: Mapping[str, TopicOffsets]) -> StoredByTable:
        stored: dict[str, Mapping[int, int]] = {}
        for kind in KINDS:
            if of_topic := offsets.get(self._settings.topic(kind.topic)):
                with suppress(ApiError):  # logged; the other tables have their watermarks
                    stored[kind.table.name] = await self._table_offsets.stored_offsets(
                        kind.table, kind.topic, of_topic.identity, of_topic.end
                    )
        return stored

    def _stored_until(
        self, offsets: Mapping[str, TopicOffsets], table: str, stored: Mapping[int, int]
    ) -> list[int]:
        """The watermark of each partition of a table's topic."""
        topic = self._settings.topic(TOPIC_OF[table])
        return [
            self._partition_until(
                TopicPartition(topic, partition), max(first, stored.get(partition, 0))
            )
            for partition, first in offsets[topic].first.items()
        ]

    def _partition_until(self, at: TopicPartition, next_offset: int) -> int:
        until = self._ends[at].stored_until(next_offset)
        return self._timestamps[at] if until is None else until

    async def _read_timestamps(
        self,
        consumer: AIOKafkaConsumer,
        offsets: Mapping[str, TopicOffsets],
        stored: StoredByTable,
    ) -> None:
        """Read the timestamps of first unread messages from before the first end offset."""
        unread: dict[TopicPartition, int] = {}
        for table, of_table in stored.items():
            topic = self._settings.topic(TOPIC_OF[table])
            unread |= unread_offsets(topic, offsets[topic], of_table)
        unknown = {
            at: offset
            for at, offset in unread.items()
            if self._ends[at].stored_until(offset) is None
        }
        # An earlier message of a partition is older: its timestamp stays a lower bound.
        due = self._clock() - self._timestamps_read_ms >= TIMESTAMPS_INTERVAL_MS
        if unknown and (due or not unknown.keys() <= self._timestamps.keys()):
            self._timestamps = dict(await read_timestamps(consumer, unknown))
            self._timestamps_read_ms = self._clock()

    async def _clients(self) -> tuple[AIOKafkaAdminClient, AIOKafkaConsumer]:
        if self._admin is None or self._consumer is None:
            arguments = client_arguments(self._settings)
            self._admin = AIOKafkaAdminClient(**arguments)
            await self._admin.start()
            self._consumer = AIOKafkaConsumer(
                **arguments,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                max_partition_fetch_bytes=1024,
            )
            await self._consumer.start()
        return self._admin, self._consumer

    async def close(self) -> None:
        """Close the connections."""
        admin, consumer, self._admin, self._consumer = self._admin, self._consumer, None, None
        with suppress(KafkaError, OSError, TimeoutError):
            if consumer is not None:
                await consumer.stop()
            if admin is not None:
                await admin.close()

    async def _note_error(self, error: str) -> None:
        if error != self.error:
            log.warning("watermarks not measured", extra={"reason": error})
        self.error = error
        await self.close()
