"""Progress of a worker: partitions, stored offsets, watermark, lag, and whether it is stuck."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.heartbeat import Heartbeat, PartitionProgress, write_heartbeat
from stream.runtime.errors import Stuck

TopicPartition = tuple[str, int]
"""Topic and partition."""

NOT_JOINED = "is not in the consumer group yet"
STUCK_SECONDS = 60.0
FETCH_LAG_MS = 1_000
"""End offsets are as of the last fetch; a fetch completes many times within this period."""


class WorkerProgress:
    """The next and end offsets of every topic partition that is assigned to this worker."""

    def __init__(
        self, clock: Clock = now_ms, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._next: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._stored_ms: dict[TopicPartition, int] = {}
        self._level_ms: dict[TopicPartition, int] = {}
        """When a partition was seen with nothing to store."""
        self._backlog_ms: dict[TopicPartition, int] = {}
        """When a partition was first seen with messages to store."""
        self._stored_until: dict[str, int] = {}
        self._files_scanned = 0
        self._ready = False
        self._progressed_at = self._joined_at = self._behind_at = monotonic()

    def assign(self, next_offsets: dict[TopicPartition, int]) -> None:
        """Replace the assigned partitions, with the next offset of each."""
        self._next = dict(next_offsets)
        self._ends, self._stored_ms, self._stored_until = {}, {}, {}
        self._level_ms, self._backlog_ms = {}, {}
        self._progressed_at = self._monotonic()

    def batch_written(
        self, topic: str, next_offsets: Mapping[int, int], timestamps_ms: Mapping[int, int]
    ) -> None:
        """Record a stored batch; `timestamps_ms` has the last message's timestamp by partition."""
        for partition, offset in next_offsets.items():
            self._next[topic, partition] = offset
            self._stored_ms[topic, partition] = timestamps_ms[partition]
        self._progressed_at = self._behind_at = self._monotonic()

    def note_scan(self, files: int) -> None:
        """Record the number of data files scanned so far: scanning one more is progress, too."""
        if files > self._files_scanned:
            self._files_scanned, self._progressed_at = files, self._monotonic()

    def note_end_offsets(self, end_offsets: dict[TopicPartition, int]) -> None:
        """Update Kafka's end offsets."""
        self._ends.update(end_offsets)
        now = self._clock()
        for at in end_offsets.keys() & self._next.keys():
            if self._ends[at] <= self._next[at]:
                self._level_ms[at] = now
            else:
                self._backlog_ms.setdefault(at, now)
        for topic in {topic for topic, _ in self._next}:
            complete_ms = self._stored_until_ms(topic)
            if complete_ms is not None:
                self._stored_until[topic] = max(complete_ms, self._stored_until.get(topic, 0))
        if not any(self._is_behind(topic) for topic, _ in self._next):
            self._progressed_at = self._monotonic()
        if not self._next or any(self._ends.get(at) != to for at, to in self._next.items()):
            self._behind_at = self._monotonic()

    def caught_up_seconds(self) -> float:
        """For how long everything that Kafka has of the assigned partitions has been stored."""
        return self._monotonic() - self._behind_at

    def note_membership(self, joined: bool) -> None:
        """Record whether this worker is in the consumer group and no rebalance is running."""
        if joined:
            self._joined_at, self._ready = self._monotonic(), True

    @property
    def joined(self) -> bool:
        """Whether this worker has been in the group since its start."""
        return self._ready

    def raise_if_stuck(self) -> None:
        """Stuck when messages wait, or the group is not joined, without progress for a minute."""
        now = self._monotonic()
        if now - self._progressed_at > STUCK_SECONDS:
            raise Stuck(f"nothing stored for {now - self._progressed_at:.0f} s: {self.progress()}")
        if now - self._joined_at > STUCK_SECONDS:
            raise Stuck(f"not in the consumer group for {now - self._joined_at:.0f} s")

    def partitions(self) -> Iterable[TopicPartition]:
        """The assigned topic partitions."""
        return tuple(self._next)

    def progress(self) -> tuple[PartitionProgress, ...]:
        return tuple(
            PartitionProgress(
                topic, partition, offset, max(self._ends.get((topic, partition), 0), offset)
            )
            for (topic, partition), offset in sorted(self._next.items())
        )

    def lag_seconds(self, topic: str, partition: int) -> float:
        """For how long a partition has had messages that are not stored; 0 when all are.

        Counted from its last stored message. A backlog from before the assignment counts from when
        it was seen, until its first batch is stored.
        """
        at = topic, partition
        end, stored = self._ends.get(at), self._next.get(at, 0)
        if end is None or end <= stored:
            return 0.0
        now = self._clock()
        since = max(self._stored_ms.get(at, 0), self._level_ms.get(at, 0))
        return max(0, now - (since or self._backlog_ms.get(at, now))) / 1000

    def write_heartbeat(
        self, run: Path, name: str, pid: int, previous: Heartbeat, reason: str = ""
    ) -> None:
        """Write this worker's state and `reason`; `previous` until it joins the group."""
        state, reason = ("ready", reason) if self._ready else (previous.state, previous.reason)
        heartbeat = Heartbeat(
            name,
            pid,
            self._clock(),
            state,
            self.progress(),
            dict(self._stored_until),
            reason,
            unready_reason="" if self._ready else NOT_JOINED,
        )
        write_heartbeat(run, heartbeat)

    def _stored_until_ms(self, topic: str) -> int | None:
        """The topic's watermark: everything received before it is stored; None when not known."""
        watermarks = [
            self._watermark(topic_partition)
            for topic_partition in self._next
            if topic_partition[0] == topic
        ]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if len(known) == len(watermarks) else None

    def _watermark(self, topic_partition: TopicPartition) -> int | None:
        end = self._ends.get(topic_partition)
        if end is not None and end <= self._next[topic_partition]:
            return self._clock() - FETCH_LAG_MS
        return self._stored_ms.get(topic_partition)

    def _is_behind(self, topic: str) -> bool:
        return any(
            self._ends.get(topic_partition, 0) > offset
            for topic_partition, offset in self._next.items()
            if topic_partition[0] == topic
        )


LABELS = ("topic", "partition")


class PartitionLag(Collector):
    """Reads the progress when the metrics are requested."""

    def __init__(self, progress: WorkerProgress) -> None:
        self._progress = progress

    def collect(self) -> Iterator[GaugeMetricFamily]:
        messages = GaugeMetricFamily(
            "tidemark_lag_messages", "Messages in Kafka that are not stored", labels=LABELS
        )
        seconds = GaugeMetricFamily(
            "tidemark_lag_seconds",
            "For how long a partition has had messages that are not stored; 0 when all are",
            labels=LABELS,
        )
        for part in self._progress.progress():
            labels = (part.topic, str(part.partition))
            messages.add_metric(labels, part.end_offset - part.next_offset)
            seconds.add_metric(labels, self._progress.lag_seconds(part.topic, part.partition))
        yield messages
        yield seconds
