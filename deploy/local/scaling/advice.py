"""Advice: how many workers and partitions a measurement asks for, and what that will do."""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from deploy.local.scaling.measurement import LoadMeasurement, PartitionRate

LATE_SECONDS = 10.0
"""Older unread messages are a lag; batches are up to some seconds old without one."""
PATIENCE_SECONDS = 600.0
"""A lag that is gone by then needs no change."""
HOT_SHARE = 0.5
HOT_FACTOR = 2.0
"""A hot partition has this share of the lag, and receives this many times the mean."""

Change = Literal["none", "workers", "partitions", "hot", "start", "stalled"]


class Advice(Struct, frozen=True, rename="camel"):
    """What to change."""

    change: Change
    text: str
    """What is the matter, and what to do."""
    effect: str = ""
    """What the change will do."""
    workers: int | None = None
    partitions: int | None = None
    catch_up_seconds: float | None = None
    """Until nothing waits, without the change; None when that never happens."""
    hot: Sequence[PartitionRate] = ()


def advise(found: LoadMeasurement) -> Advice:
    """The advice for a measurement."""
    arrival = sum(rate.arrival for rate in found.partitions)
    drain = sum(rate.drain for rate in found.partitions)
    lag = sum(rate.lag for rate in found.partitions)
    remaining = catch_up_seconds(lag, arrival, drain)
    if not found.workers:
        return Advice("start", f"No worker runs; {lag} messages wait. Start workers.")
    if found.lag_seconds <= LATE_SECONDS or not lag:
        return _enough(found)
    if not drain:
        return Advice(
            "stalled",
            f"Nothing is stored by {_workers(found)} while {lag} messages wait. Read their "
            "logs: more workers do not help.",
        )
    if remaining is not None and remaining <= PATIENCE_SECONDS:
        return Advice(
            "none",
            f"The workers catch up in {remaining:.0f} s. Change nothing.",
            catch_up_seconds=remaining,
        )
    if hot := hot_partitions(found.partitions):
        return _hot(found, hot, remaining)
    return _more(found, arrival, drain, lag, remaining)


def catch_up_seconds(lag: int, arrival: float, drain: float) -> float | None:
    """Seconds until nothing waits at these rates; None when never."""
    if not lag:
        return 0.0
    return round(lag / (drain - arrival), 1) if drain > arrival else None


def hot_partitions(partitions: Sequence[PartitionRate]) -> list[PartitionRate]:
    """Partitions that hold most of the lag because they receive much more than the others."""
    lag = sum(rate.lag for rate in partitions)
    hot = []
    for rate in partitions:
        others = [p.arrival for p in partitions if p.topic == rate.topic and p is not rate]
        mean = sum(others) / len(others) if others else math.inf
        if rate.lag >= HOT_SHARE * lag and rate.arrival > HOT_FACTOR * mean:
            hot.append(rate)
    return hot


def most_workers(partitions: Sequence[PartitionRate]) -> int:
    """How many workers can have a partition of the topic with the most partitions."""
    topics = [rate.topic for rate in partitions]
    return max((topics.count(topic) for topic in set(topics)), default=0)


def _workers(found: LoadMeasurement) -> str:
    count = len(found.workers)
    return "1 worker" if count == 1 else f"{count} workers"


def _enough(found: LoadMeasurement) -> Advice:
    idle = sum(not worker.partitions for worker in found.workers)
    text = f"Nothing waits long for {_workers(found)}. Change nothing."
    if idle:
        text = f"Nothing waits long for {_workers(found)}; {idle} without a partition to read."
    return Advice("none", text, catch_up_seconds=0.0)


def _hot(found: LoadMeasurement, hot: Sequence[PartitionRate], remaining: float | None) -> Advice:
    [name] = [f"{rate.topic}/{rate.partition}" for rate in hot[:1]]
    text = f"Partition {name} has most of the lag and receives far more than the others: "
    shared = [
        worker
        for worker in found.workers
        if worker.partitions > 1 and f"{worker.name} ({worker.host})" == hot[0].worker
    ]
    workers = len(found.workers) + 1
    if shared and workers <= most_workers(found.partitions):
        return Advice(
            "hot",
            f"{text}run {workers} workers, so that its worker reads fewer others.",
            f"Its worker stores {shared[0].drain - hot[0].drain:.1f} messages per second less of "
            "the others.",
            workers=workers,
            catch_up_seconds=remaining,
            hot=hot,
        )
    return Advice(
        "hot",
        f"{text}its worker has nothing else to do. Find the website or visitor that sends so much "
        "(`tidemark ask top_pages`), or give the worker a faster core.",
        "More workers or partitions do not divide one partition key.",
        catch_up_seconds=remaining,
        hot=hot,
    )


def _more(
    found: LoadMeasurement, arrival: float, drain: float, lag: int, remaining: float | None
) -> Advice:
    now, most = len(found.workers), most_workers(found.partitions)
    each = drain / now
    needed = max(now + 1, math.ceil((arrival + lag / PATIENCE_SECONDS) / each))
    workers = min(needed, most)
    late = f"Stored {drain:.1f} of {arrival:.1f} messages per second, and {lag} wait: "
    if workers > now:
        text = f"{late}run {workers} workers instead of {now}, each with a core of its own."
        partitions = needed if needed > most else None
        if partitions:
            text += f" For {needed} workers raise TIDEMARK_PARTITIONS to {needed}."
        then = catch_up_seconds(lag, arrival, each * workers)
        end = f"and catch up in {then:.0f} s" if then is not None else "and still fall behind"
        effect = f"{workers} workers store about {each * workers:.1f} per second {end}."
        return Advice("workers", text, effect, workers, partitions, remaining)
    text = (
        f"{late}every partition has a worker of its own. Raise TIDEMARK_PARTITIONS to {needed} and "
        f"run {needed} workers."
    )
    effect = (
        f"Waiting messages stay in their partitions; new ones are stored at {each * needed:.1f}"
    )
    return Advice("partitions", text, f"{effect} per second.", needed, needed, remaining)
