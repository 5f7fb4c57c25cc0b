"""`processes.json`: the supervisor's process status for other commands."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from deploy.local.processes.process import ProcessState
from deploy.local.processes.supervised_process import SupervisedProcess
from schemas.runtime.clock import now_ms
from schemas.runtime.files import read_regular, write_atomically


class ProcessStatus(Struct, frozen=True, rename="camel"):
    """The status of one process."""

    name: str
    state: ProcessState
    pid: int | None
    restarts: int
    where: str
    log: str
    reason: str = ""
    """Why it ended last, or is not ready; empty after a stable run."""
    metrics_port: int | None = None
    """Its port of metrics and health; None where it serves none."""


class ProcessesStatus(Struct, frozen=True):
    """The status of the supervisor and its processes."""

    supervisor: int
    ready: bool
    processes: tuple[ProcessStatus, ...]
    at_ms: int = 0
    """Time of writing; 0 when an older version wrote it."""


def current_status(children: Sequence[SupervisedProcess]) -> ProcessesStatus:
    """The current status of all processes."""
    return ProcessesStatus(
        supervisor=os.getpid(),
        ready=all(child.state == ProcessState.READY for child in children),
        processes=tuple(
            ProcessStatus(
                name=c.spec.name,
                state=c.state,
                pid=c.pid,
                restarts=c.restarts,
                where=c.spec.address,
                log=str(c.log),
                reason=c.reason,
                metrics_port=c.spec.metrics_port,
            )
            for c in children
        ),
        at_ms=now_ms(),
    )


def write_processes_file(folder: Path, status: ProcessesStatus) -> None:
    """Replace the file atomically."""
    text = msgspec.json.format(msgspec.json.encode(status), indent=2)
    write_atomically(folder / "processes.json", text)


def read_processes_file(folder: Path) -> ProcessesStatus | None:
    """The status written by the running supervisor of this folder; None when none runs."""
    try:
        status = msgspec.json.decode(read_regular(folder / "processes.json"), type=ProcessesStatus)
        os.kill(status.supervisor, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return status
