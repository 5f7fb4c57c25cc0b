"""Scale and restart processes of a running `tidemark up`.

The numbers of processes are requested by a file, which it follows. They hold until `tidemark up`
ends: the next one starts with those of the settings. The only collector, and the only query
service, gets a second process beside it while it restarts, so that no request is refused.
"""

import asyncio
import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from deploy.local.process_list import SCALED_SPECS, Role
from deploy.local.processes.process import (
    METRICS_PORT,
    ProcessSpec,
    ProcessState,
    write_restart_order,
)
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, read_processes_file
from deploy.local.processes.supervisor import Supervisor
from schemas.runtime.files import read_regular, write_atomically
from schemas.runtime.settings import Settings

POLL_SECONDS = 0.5
SCALE_SECONDS = 180.0
"""How long added processes may take to be ready, and removed ones to end."""


class CannotScale(Exception):
    """A number of processes cannot be changed, or was not reached; the message says why."""


class CountRequest(Struct, frozen=True):
    """The content of the file."""

    counts: Mapping[Role, int]
    supervisor: int
    """Pid of the supervisor that is meant: one that starts later ignores the request."""


def scale_processes(
    settings: Settings, role: Role, count: int, seconds: float = SCALE_SECONDS
) -> list[ProcessStatus]:
    """Request so many processes of a role, and wait until they are ready and no others run."""
    if role == "worker" and count > settings.partitions:
        raise CannotScale(
            f"{count} workers need as many partitions, and TIDEMARK_PARTITIONS is "
            f"{settings.partitions}; raise it first"
        )
    supervisor = _running(settings).supervisor
    counts = {**requested_counts(settings.data, supervisor), role: count}
    request = CountRequest(counts, supervisor)
    write_atomically(_path(settings.data), msgspec.json.encode(request))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = processes_of(role, _running(settings))
        if len(found) == count and all(each.state == ProcessState.READY for each in found):
            return found
        time.sleep(POLL_SECONDS)
    states = ", ".join(f"{each.name} is {each.state} (see {each.log})" for each in found)
    raise CannotScale(f"not {count} ready {role} processes after {seconds:.0f} s: {states}")


class ProcessCounts:
    """Adds and removes processes of a supervisor as requested."""

    def __init__(self, settings: Settings, supervisor: Supervisor, pid: int) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self._pid = pid

    async def run(self) -> None:
        """Follow requests until cancelled, once every required process has started."""
        for child in self._supervisor.processes:
            if child.spec.required:
                await child.became_ready.wait()
        while True:
            for role, count in requested_counts(self._settings.data, self._pid).items():
                await self.reach(role, count)
            await asyncio.sleep(POLL_SECONDS)

    async def reach(self, role: Role, wanted: int) -> None:
        """Start the missing processes, or stop those with the highest numbers, one by one."""
        numbers = self._numbers(role)
        for number in sorted(numbers, reverse=True)[: max(0, len(numbers) - wanted)]:
            await self._supervisor.remove(f"{role}-{number}")
        for number in _free(numbers, wanted - len(numbers)):
            self._supervisor.add(self._spec(role, number))

    def _numbers(self, role: Role) -> set[int]:
        names = (child.spec.name for child in self._supervisor.processes)
        return {int(name.removeprefix(f"{role}-")) for name in names if is_of(role, name)}

    def _spec(self, role: Role, number: int) -> ProcessSpec:
        """With a metrics port that no other process has."""
        spec = SCALED_SPECS[role](self._settings, number)
        if not self._settings.metrics_port:
            return spec
        used = {child.spec.metrics_port or 0 for child in self._supervisor.processes}
        port = next(_unused(self._settings.metrics_port, used))
        return structs.replace(spec, variables={METRICS_PORT: str(port)})


def requested_counts(data: Path, supervisor: int) -> Mapping[Role, int]:
    """The numbers that were requested of the supervisor with this pid, by role."""
    try:
        request = msgspec.json.decode(read_regular(_path(data)), type=CountRequest)
    except (OSError, msgspec.DecodeError):
        return {}
    return request.counts if request.supervisor == supervisor else {}


def processes_of(role: Role, status: ProcessesStatus) -> list[ProcessStatus]:
    """The processes of a role."""
    return [each for each in status.processes if is_of(role, each.name)]


def is_of(role: Role, name: str) -> bool:
    """Whether a process with this name is of the role."""
    return name.startswith(f"{role}-")


def _free(numbers: Collection[int], count: int) -> list[int]:
    free = _unused(1, numbers)
    return [next(free) for _ in range(count)]


def _unused(start: int, used: Collection[int]) -> Iterator[int]:
    return (number for number in range(start, start + 100_000) if number not in used)


def _running(settings: Settings) -> ProcessesStatus:
    status = read_processes_file(settings.data)
    if status is None:
        raise CannotScale(f"nothing runs on {settings.data}; start it with `tidemark up`")
    return status


def _path(data: Path) -> Path:
    return data / "process_counts.json"


RESTART_SECONDS = 180.0
"""How long a process may take to finish its work and to be ready again."""
RESTART_POLL_SECONDS = 0.2
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
        time.sleep(RESTART_POLL_SECONDS)
    raise CannotRestart(f"{name} is not ready after {seconds:.0f} s; see {before.log}")


def _process(data: Path, name: str) -> ProcessStatus:
    status = read_processes_file(data)
    if status is None:
        raise CannotRestart(f"nothing runs on {data}; start it with `tidemark up`")
    found = {process.name: process for process in status.processes}
    if name not in found:
        raise CannotRestart(f"there is no process {name}; choose one of {', '.join(found)}")
    return found[name]
