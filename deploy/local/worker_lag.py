"""Consumer lag, from the workers' heartbeats."""

from collections.abc import Sequence, Set

from deploy.local.processes.readiness import is_fresh
from schemas.runtime.heartbeat import Heartbeat


def relevant_heartbeats(
    heartbeats: Sequence[Heartbeat], running: Set[int], at_ms: int
) -> list[Heartbeat]:
    """The heartbeats that count: fresh ones, and old ones of running but frozen processes.

    A partition that a fresh heartbeat reports no longer belongs to a frozen process.
    """
    fresh = [heartbeat for heartbeat in heartbeats if is_fresh(heartbeat, at_ms)]
    reported = {(at.topic, at.partition) for heartbeat in fresh for at in heartbeat.progress}
    frozen = [
        heartbeat
        for heartbeat in heartbeats
        if heartbeat not in fresh
        and heartbeat.pid in running
        and not any((at.topic, at.partition) in reported for at in heartbeat.progress)
    ]
    return [*fresh, *frozen]


def lag_chunks(topic: str, heartbeats: Sequence[Heartbeat]) -> int | None:
    """Messages of the topic that are not stored yet, over all reported partitions."""
    behind = [
        max(0, progress.end_offset - progress.next_offset)
        for heartbeat in heartbeats
        for progress in heartbeat.progress
        if progress.topic == topic
    ]
    return sum(behind) if behind else None


def lag_seconds(
    topic: str, heartbeats: Sequence[Heartbeat], chunks: int | None, at_ms: int
) -> float | None:
    """Seconds since the slowest worker last caught up with Kafka.

    None while a worker that holds partitions of the topic does not report its progress.
    """
    holders = [
        heartbeat for heartbeat in heartbeats if any(at.topic == topic for at in heartbeat.progress)
    ]
    level = [
        heartbeat.complete_ms[topic] for heartbeat in holders if topic in heartbeat.complete_ms
    ]
    if chunks is None or not level or len(level) < len(holders):
        return None
    if chunks == 0 and all(is_fresh(heartbeat, at_ms) for heartbeat in holders):
        return 0.0
    return round((at_ms - min(level)) / 1000, 1)
