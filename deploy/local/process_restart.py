"""`tidemark restart NAME`: end one process in order; its supervisor starts it again.

The only collector, and the only query service, gets a second process beside it meanwhile, so that
no request is refused.
"""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.local.process_counts import (
    SCALE_SECONDS,
    CannotScale,
    is_of,
    processes_of,
    scale_processes,
)
from deploy.local.process_list import Role
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessStatus, read_processes_file
from deploy.local.processes.restart_order import write_restart_order
from schemas.runtime.settings import Settings

RESTART_SECONDS = 180.0
"""How long a process may take to finish its work and to be ready again."""
POLL_SECONDS = 0.2
MOST_ENDS = 3
"""How often a process may end by itself before it is ready again."""
ANSWERING: Sequence[Role] = ("collector", "query")
"""Processes that answer requests."""
RUNNING = (ProcessState.READY, ProcessState.UNREADY)


class CannotRestart(Exception):
    """The process cannot be restarted, or is not ready again; the message says why."""


def restart_without_gap(
    settings: Settings, name: str, seconds: float = SCALE_SECONDS
) -> ProcessStatus:
    """Restart a process; one that answers requests alone is replaced while it restarts."""
    role = next((each for each in ANSWERING if is_of(each, name)), None)
    status = read_processes_file(settings.data)
    if status is None or role is None or len(processes_of(role, status)) != 1:
        return restart_process(settings.data, name)
    _process(settings.data, name)  # CannotRestart before anything is started
    try:
        try:
            scale_processes(settings, role, 2, seconds)
            return restart_process(settings.data, name)
        finally:
            scale_processes(settings, role, 1)
    except CannotScale as error:
        raise CannotRestart(f"no second {role} beside it: {error}") from None


def restart_process(data: Path, name: str, seconds: float = RESTART_SECONDS) -> ProcessStatus:
    """Send SIGTERM, so that it finishes its work, and wait until its successor is ready."""
    before = _process(data, name)
    if before.pid is None or before.state not in RUNNING:
        raise CannotRestart(f"{name} is {before.state}; repeat when `tidemark status` says ready")
    try:
        write_restart_order(Path(before.log), before.pid)
        os.killpg(before.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has ended meanwhile: the supervisor starts it again
    except PermissionError:
        raise CannotRestart(f"{name} belongs to another user; run this as that user") from None
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = _process(data, name)
        if now.state == ProcessState.READY and now.pid not in (None, before.pid):
            return now
        if (ended := now.restarts - before.restarts) >= MOST_ENDS:
            raise CannotRestart(f"{name} ended {ended} times since: {now.reason}")
        time.sleep(POLL_SECONDS)
    raise CannotRestart(f"{name} is not ready after {seconds:.0f} s; see {before.log}")


def _process(data: Path, name: str) -> ProcessStatus:
    status = read_processes_file(data)
    if status is None:
        raise CannotRestart(f"nothing runs on {data}; start it with `tidemark up`")
    found = {process.name: process for process in status.processes}
    if name not in found:
        raise CannotRestart(f"there is no process {name}; choose one of {', '.join(found)}")
    return found[name]
