"""Consumer lag, from the workers' heartbeats."""

from collections.abc import Sequence, Set

from deploy.local.processes.readiness import is_fresh
from schemas.runtime.heartbeat import Heartbeat


def relevant_heartbeats(
    pulses: Sequence[Heartbeat], running: Set[int], at_ms: int
) -> list[Heartbeat]:
    """The heartbeats that count: fresh ones, and old ones of running but frozen processes.

    A partition that a fresh heartbeat reports no longer belongs to a frozen process.
    """
    fresh = [pulse for pulse in pulses if is_fresh(pulse, at_ms)]
    taken = {(at.topic, at.partition) for pulse in fresh for at in pulse.progress}
    frozen = [
        pulse
        for pulse in pulses
        if pulse not in fresh
        and pulse.pid in running
        and not any((at.topic, at.partition) in taken for at in pulse.progress)
    ]
    return [*fresh, *frozen]


def lag_chunks(topic: str, pulses: Sequence[Heartbeat]) -> int | None:
    """Messages of the topic that are not stored yet, over all reported partitions."""
    behind = [
        max(0, progress.end_offset - progress.next_offset)
        for pulse in pulses
        for progress in pulse.progress
        if progress.topic == topic
    ]
    return sum(behind) if behind else None


def lag_seconds(
    topic: str, pulses: Sequence[Heartbeat], chunks: int | None, at_ms: int
) -> float | None:
    """Seconds since the slowest worker last caught up with Kafka.

    None while a worker that holds partitions of the topic does not report its progress.
    """
    holders = [pulse for pulse in pulses if any(at.topic == topic for at in pulse.progress)]
    level = [pulse.complete_ms[topic] for pulse in holders if topic in pulse.complete_ms]
    if chunks is None or not level or len(level) < len(holders):
        return None
    if chunks == 0 and all(is_fresh(pulse, at_ms) for pulse in holders):
        return 0.0
    return round((at_ms - min(level)) / 1000, 1)
