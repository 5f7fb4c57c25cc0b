"""Measurement: what arrives and what is stored, by partition and worker, over a short time.

Kafka's end offsets and the tables' next offsets tell it for workers on any machine, and while none
runs; Kafka's consumer group tells who reads which partition.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka.errors import KafkaError
from msgspec import Struct

from deploy.local.kafka.group_partitions import GroupMember, group_members, holders
from deploy.local.kafka.offsets import table_positions, topic_lags, topic_offsets
from schemas.kinds import KINDS
from schemas.lake.object_store import BRIEF, limit_time
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

TIMEOUT_SECONDS = 10.0

T = TypeVar("T")

Offsets = Mapping[tuple[str, int], tuple[int, int]]
"""By topic partition: Kafka's end offset, and the next offset that the table needs."""


class NotMeasured(Exception):
    """Kafka or a table cannot be read; the message says which."""


class PartitionRate(Struct, frozen=True, rename="camel"):
    """One topic partition; messages are Kafka's, each with the items of one or more requests."""

    topic: str
    partition: int
    arrival: float
    """Messages per second that Kafka received."""
    drain: float
    """Messages per second that were stored."""
    lag: int
    """Messages that are not stored yet."""
    worker: str | None = None
    """Who reads it; None while nobody does."""


class WorkerRate(Struct, frozen=True, rename="camel"):
    """One worker, with the sums of its partitions."""

    name: str
    host: str
    partitions: int
    arrival: float
    drain: float
    lag: int


class LoadMeasurement(Struct, frozen=True, rename="camel"):
    """Rates over some seconds, and the lag at their end."""

    seconds: float
    partitions: Sequence[PartitionRate]
    workers: Sequence[WorkerRate]
    lag_seconds: float
    """Age of the oldest message that is not stored; 0 without any."""


def measure(
    settings: Settings, seconds: float, on_progress: Callable[[float], None] = lambda _: None
) -> LoadMeasurement:
    """Measure for so long; `on_progress` gets the seconds that are left."""
    with limit_time(BRIEF):
        return _measure(settings, seconds, on_progress)


def _measure(
    settings: Settings, seconds: float, on_progress: Callable[[float], None]
) -> LoadMeasurement:
    try:
        began, before = time.monotonic(), _run(_offsets(settings))
        while (left := began + seconds - time.monotonic()) > 0:
            on_progress(left)
            time.sleep(min(1.0, left))
        ended, after = time.monotonic(), _run(_offsets(settings))
        members = _run(group_members(settings))
    except (KafkaError, OSError, TimeoutError) as error:
        raise NotMeasured(f"Kafka at {settings.brokers} cannot be read: {error!r}") from None
    lags = topic_lags(settings, now_ms())
    live = {settings.topic(kind.topic) for kind in KINDS}
    partitions = rates(before, after, ended - began, holders(members))
    return LoadMeasurement(
        seconds=round(ended - began, 1),
        partitions=partitions,
        workers=[_worker_rate(member, partitions) for member in members],
        lag_seconds=max((lag.seconds for topic, lag in lags.items() if topic in live), default=0.0),
    )


def rates(
    before: Offsets,
    after: Offsets,
    seconds: float,
    holder_of: Mapping[tuple[str, int], GroupMember],
) -> list[PartitionRate]:
    """Rates of the partitions that both readings have; a recreated topic has none."""
    found = []
    for at in sorted(before.keys() & after.keys()):
        (end, stored), (end_after, stored_after) = before[at], after[at]
        holder = holder_of.get(at)
        found.append(
            PartitionRate(
                *at,
                arrival=round(max(0, end_after - end) / seconds, 2),
                drain=round(max(0, stored_after - stored) / seconds, 2),
                lag=max(0, end_after - stored_after),
                worker=label(holder) if holder else None,
            )
        )
    return found


def label(member: GroupMember) -> str:
    """What tells a worker from those of the same name on other machines."""
    return f"{member.name} ({member.host})"


def _worker_rate(member: GroupMember, partitions: Sequence[PartitionRate]) -> WorkerRate:
    own = [rate for rate in partitions if (rate.topic, rate.partition) in member.partitions]
    return WorkerRate(
        name=member.name,
        host=member.host,
        partitions=len(own),
        arrival=round(sum(rate.arrival for rate in own), 2),
        drain=round(sum(rate.drain for rate in own), 2),
        lag=sum(rate.lag for rate in own),
    )


def _run(reading: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await reading

    return asyncio.run(bounded())


async def _offsets(settings: Settings) -> Offsets:
    kafka = await topic_offsets(settings)
    positions = await asyncio.to_thread(table_positions, settings, kafka)
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for kind in KINDS:
        topic = settings.topic(kind.topic)
        if topic not in kafka:
            continue
        if topic not in positions:
            raise NotMeasured(f"table {kind.table.name} cannot be read; tidemark doctor says why")
        position = positions[topic]
        stored = position.stored if position else {}
        for partition, end in kafka[topic].end.items():
            first = kafka[topic].first[partition]
            found[topic, partition] = (end, max(stored.get(partition, 0), first))
    return found
