"""What runs, written to `<data>/processes.json` by the supervisor and read by whoever asks."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from deploy.local.processes.process import ProcessState
from deploy.local.processes.supervised_process import SupervisedProcess
from schemas.runtime.clock import now_ms
from schemas.runtime.files import write_atomically


class ProcessStatus(Struct, frozen=True, rename="camel"):
    """One process as it is now."""

    name: str
    state: ProcessState
    pid: int | None
    restarts: int
    where: str
    log: str
    reason: str = ""
    """Why it ended last, or is not well; empty when it has run steadily."""


class ProcessesStatus(Struct, frozen=True):
    """The supervisor and its processes."""

    supervisor: int
    ready: bool
    processes: tuple[ProcessStatus, ...]
    at_ms: int = 0
    """When it was written; 0 by an older version."""


def current_status(children: Sequence[SupervisedProcess]) -> ProcessesStatus:
    """The account at this moment."""
    return ProcessesStatus(
        supervisor=os.getpid(),
        ready=all(child.state == ProcessState.READY for child in children),
        processes=tuple(
            ProcessStatus(
                c.spec.name, c.state, c.pid, c.restarts, c.spec.address, str(c.log), c.reason
            )
            for c in children
        ),
        at_ms=now_ms(),
    )


def write_processes_file(folder: Path, account: ProcessesStatus) -> None:
    """Replace the account; readers see the old or the new one."""
    text = msgspec.json.format(msgspec.json.encode(account), indent=2)
    write_atomically(folder / "processes.json", text)


def read_processes_file(folder: Path) -> ProcessesStatus | None:
    """The account of the supervisor that runs on this folder; None when there is none."""
    try:
        account = msgspec.json.decode(
            (folder / "processes.json").read_bytes(), type=ProcessesStatus
        )
        os.kill(account.supervisor, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return account
