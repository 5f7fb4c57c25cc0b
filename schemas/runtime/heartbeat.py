"""Heartbeats: one JSON file per process with its state and progress.

One JSON file per process in `<data>/run`, replaced as a whole. A pulse older than STALE_MS is of a
process that is gone or stuck.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.files import write_atomically

STALE_AFTER_MS = 15_000
REFUSED = "refused"
"""State of who ended because an operator has to decide something."""
REFUSED_VALID_MS = 60_000
"""A supervisor starts it again and again, and so says it anew long before this is over."""

SILENT_MS = 30_000
"""A worker that is killed is back, and has its partitions again, long before this is over."""


class PartitionProgress(Struct, frozen=True):
    """How far a worker is with one topic partition."""

    topic: str
    partition: int
    next_offset: int
    """First offset that the table does not hold yet."""
    end_offset: int
    """Offset that the next message will get."""


class Heartbeat(Struct, frozen=True):
    """One process's account of itself."""

    process: str
    pid: int
    at_ms: int
    state: str = "ready"
    progress: tuple[PartitionProgress, ...] = ()
    complete_ms: dict[str, int] = {}
    """By topic: whatever this worker's partitions took in before this instant is stored."""
    reason: str = ""
    """Why it refuses, or what it does not store, and what is to be done."""


def write_heartbeat(run: Path, heartbeat: Heartbeat) -> None:
    """Replace the process's pulse; readers see the old or the new one.

    OSError when there is no room: then the old one is touched, which takes none, so that a full
    disk does not look like a process that hangs.
    """
    path = run / f"{heartbeat.process}.json"
    try:
        run.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(heartbeat))
    except OSError:
        with suppress(OSError):
            os.utime(path)
        raise


def remove_heartbeat(run: Path, process: str) -> None:
    """Of a process that ends in order: what it said holds no longer."""
    path = run / f"{process}.json"
    with suppress(OSError, msgspec.DecodeError):
        if msgspec.json.decode(path.read_bytes(), type=Heartbeat).pid == os.getpid():
            path.unlink()


def read_heartbeats(run: Path) -> list[Heartbeat]:
    """All pulses, stale ones too, by name of the process."""
    heartbeats = []
    for path in sorted(run.glob("*.json")):
        try:
            heartbeats.append(msgspec.json.decode(path.read_bytes(), type=Heartbeat))
        except (OSError, msgspec.DecodeError):
            continue  # being replaced, or not a pulse
    return heartbeats


def complete_until(topic: str, heartbeats: Iterable[Heartbeat], partitions: int) -> int | None:
    """Before when all partitions of the topic are complete; None when not all are told of.

    While workers share the partitions out anew, some have no holder, and nothing can be said.
    """
    holders = [
        heartbeat
        for heartbeat in heartbeats
        if any(progress.topic == topic for progress in heartbeat.progress)
    ]
    assigned = {
        progress.partition
        for heartbeat in holders
        for progress in heartbeat.progress
        if progress.topic == topic
    }
    since = [
        heartbeat.complete_ms[topic] for heartbeat in holders if topic in heartbeat.complete_ms
    ]
    if not since or len(since) < len(holders) or len(assigned) < partitions:
        return None
    return min(since)


def refusal_reason(run: Path, at_ms: int) -> str | None:
    """Why something is not stored until an operator decides; None when nobody says so."""
    reasons = [
        f"{heartbeat.process}: {heartbeat.reason}"
        for heartbeat in read_heartbeats(run)
        if heartbeat.reason and at_ms - heartbeat.at_ms < REFUSED_VALID_MS
    ]
    return "; ".join(reasons) or None


def silence(run: Path, at_ms: int) -> str | None:
    """For how long no worker has said how far it is; None while one does, or when none ever did."""
    reported_ms = [heartbeat.at_ms for heartbeat in read_heartbeats(run) if heartbeat.progress]
    silent_ms = at_ms - max(reported_ms, default=at_ms)
    if silent_ms <= SILENT_MS:
        return None
    return f"no worker has reported for {silent_ms // 1000} s; what is new is not stored"
