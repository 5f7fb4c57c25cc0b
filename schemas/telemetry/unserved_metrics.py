"""Why a process does not serve its metrics, as a file in the folder of the heartbeats.

It works without them and tries again until the port is free, so its heartbeat says nothing of it.
"""

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.files import read_regular, write_atomically


class UnservedMetrics(Struct, frozen=True):
    """A process whose port of metrics cannot be opened."""

    process: str
    pid: int
    port: int
    reason: str

    @property
    def problem(self) -> str:
        """A sentence for operators."""
        return f"its metrics are not served: port {self.port} {self.reason}"


def write_unserved(run: Path, unserved: UnservedMetrics) -> None:
    """Replace the file of a process; a full disk may prevent it."""
    path = _path(run, unserved.process)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(unserved))


def remove_unserved(run: Path, process: str) -> None:
    """Delete the file of a process that serves its metrics."""
    with suppress(OSError):
        _path(run, process).unlink(missing_ok=True)


def read_unserved(run: Path) -> list[UnservedMetrics]:
    """All files, also of processes that have ended, by process."""
    found = []
    for path in sorted((run / "metrics").glob("*.json")):
        with suppress(OSError, msgspec.DecodeError):
            found.append(msgspec.json.decode(read_regular(path), type=UnservedMetrics))
    return found


def _path(run: Path, process: str) -> Path:
    return run / "metrics" / f"{process}.json"
