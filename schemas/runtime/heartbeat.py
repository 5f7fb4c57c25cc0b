"""Heartbeats: one JSON file per process with its state and progress.

The files are in `<data>/run` and replaced as a whole. A heartbeat older than STALE_AFTER_MS is of a
process that ended or hangs.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.files import read_regular, write_atomically

STALE_AFTER_MS = 15_000
REFUSED = "refused"
"""State of a process that ended because an operator has to decide something."""
REFUSED_VALID_MS = 60_000
"""How long a refusal is valid; the supervisor restarts the process, which renews it sooner."""

SILENT_MS = 30_000
"""Time without worker heartbeats that counts as an outage; a killed worker is back sooner."""


class PartitionProgress(Struct, frozen=True):
    """Progress of a worker in one topic partition."""

    topic: str
    partition: int
    next_offset: int
    """First offset that the table does not have."""
    end_offset: int
    """Offset of the next message in Kafka."""


class Heartbeat(Struct, frozen=True):
    """State and progress of one process."""

    process: str
    pid: int
    at_ms: int
    state: str = "ready"
    progress: tuple[PartitionProgress, ...] = ()
    complete_ms: dict[str, int] = {}
    """Watermark by topic: messages of this worker's partitions before it are stored."""
    reason: str = ""
    """Why it refuses to start, or what it does not store, and the remedy."""
    unready_reason: str = ""
    """Why it is not ready, for `/readyz`."""
    warning: str = ""
    """Problem of a working process, such as a proxy that is not trusted."""


def heartbeat_path(run: Path, process: str) -> Path:
    """The file of a process."""
    return run / f"{process}.json"


def write_heartbeat(run: Path, heartbeat: Heartbeat) -> None:
    """Replace the heartbeat of a process.

    OSError on a full disk: then the old file is touched, so that the process does not seem to hang.
    """
    path = heartbeat_path(run, heartbeat.process)
    try:
        run.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(heartbeat))
    except OSError:
        with suppress(OSError):
            os.utime(path)
        raise


def remove_heartbeat(run: Path, process: str) -> None:
    """Delete the heartbeat of a process that ends gracefully."""
    path = heartbeat_path(run, process)
    with suppress(OSError, msgspec.DecodeError):
        if msgspec.json.decode(read_regular(path), type=Heartbeat).pid == os.getpid():
            path.unlink()


def read_heartbeat(path: Path) -> Heartbeat | None:
    """The heartbeat in a file; None when it is being replaced, or none."""
    try:
        return msgspec.json.decode(read_regular(path), type=Heartbeat)
    except (OSError, msgspec.DecodeError):
        return None


def read_heartbeats(run: Path) -> list[Heartbeat]:
    """All heartbeats, stale ones too, sorted by process name."""
    heartbeats = map(read_heartbeat, sorted(run.glob("*.json")))
    return [heartbeat for heartbeat in heartbeats if heartbeat is not None]


def complete_until(topic: str, heartbeats: Iterable[Heartbeat], partitions: int) -> int | None:
    """Watermark of a topic: the lowest of its workers; None unless every partition has a worker.

    During a rebalance some partitions have no worker.
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
    """Why a worker refuses to store something until an operator decides; None if none does."""
    reasons = [
        f"{heartbeat.process}: {heartbeat.reason}"
        for heartbeat in read_heartbeats(run)
        if heartbeat.reason and at_ms - heartbeat.at_ms < REFUSED_VALID_MS
    ]
    return "; ".join(reasons) or None


def silence(run: Path, at_ms: int) -> str | None:
    """Problem text when no worker has reported for long; None also if none ever did."""
    reported_ms = [heartbeat.at_ms for heartbeat in read_heartbeats(run) if heartbeat.progress]
    silent_ms = at_ms - max(reported_ms, default=at_ms)
    if silent_ms <= SILENT_MS:
        return None
    return f"no worker has reported for {silent_ms // 1000} s; what is new is not stored"
