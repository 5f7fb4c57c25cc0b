"""Pulses: small files in which each process says how it is, for status and for freshness.

One JSON file per process in `<data>/run`, replaced as a whole. A pulse older than STALE_MS is of a
process that is gone or stuck.
"""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

STALE_MS = 15_000


class Progress(Struct, frozen=True):
    """How far a worker is with one topic partition."""

    topic: str
    partition: int
    next_offset: int
    """First offset that the table does not hold yet."""
    end_offset: int
    """Offset that the next message will get."""


class Pulse(Struct, frozen=True):
    """One process's account of itself."""

    process: str
    pid: int
    at_ms: int
    state: str = "ready"
    progress: tuple[Progress, ...] = ()
    complete_ms: dict[str, int] = {}
    """By topic: whatever this worker's partitions took in before this instant is stored."""


def write_pulse(run: Path, pulse: Pulse) -> None:
    """Replace the process's pulse; readers see the old or the new one."""
    run.mkdir(parents=True, exist_ok=True)
    waiting = run / f".{pulse.process}.{os.getpid()}"
    waiting.write_bytes(msgspec.json.encode(pulse))
    waiting.replace(run / f"{pulse.process}.json")


def read_pulses(run: Path) -> list[Pulse]:
    """All pulses, stale ones too, by name of the process."""
    found = []
    for path in sorted(run.glob("*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Pulse))
        except (OSError, msgspec.DecodeError):
            continue  # being replaced, or not a pulse
    return found
