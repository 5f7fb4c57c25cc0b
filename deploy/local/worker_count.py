"""The number of workers of a running `tidemark up`: requested by a file, changed by its supervisor.

The number holds until `tidemark up` ends: the next one starts with that of the settings.
"""

import asyncio
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from deploy.local.process_list import METRICS_PORT, WORKER, worker_spec
from deploy.local.processes.process import ProcessSpec, ProcessState
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, read_processes_file
from deploy.local.processes.supervisor import Supervisor
from schemas.runtime.files import write_atomically
from schemas.runtime.settings import Settings

POLL_SECONDS = 0.5
SCALE_SECONDS = 180.0
"""How long added workers may take to be ready, and removed ones to end."""


class CannotScale(Exception):
    """The number of workers cannot be changed, or was not reached; the message says why."""


class WorkerRequest(Struct, frozen=True):
    """The content of the file."""

    workers: int
    supervisor: int
    """Pid of the supervisor that is meant: one that starts later ignores the request."""


def scale_workers(
    settings: Settings, workers: int, seconds: float = SCALE_SECONDS
) -> list[ProcessStatus]:
    """Request so many workers, and wait until they are ready and no others run."""
    if workers > settings.partitions:
        raise CannotScale(
            f"{workers} workers need as many partitions, and TIDEMARK_PARTITIONS is "
            f"{settings.partitions}; raise it first"
        )
    status = _running(settings)
    request = WorkerRequest(workers, status.supervisor)
    write_atomically(_path(settings.data), msgspec.json.encode(request))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = _workers(_running(settings))
        if len(found) == workers and all(each.state == ProcessState.READY for each in found):
            return found
        time.sleep(POLL_SECONDS)
    states = ", ".join(f"{each.name} is {each.state} (see {each.log})" for each in found)
    raise CannotScale(f"not {workers} ready workers after {seconds:.0f} s: {states}")


class WorkerCount:
    """Adds and removes workers of a supervisor as requested."""

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
            wanted = requested_workers(self._settings.data, self._pid)
            if wanted is not None:
                await self.reach(wanted)
            await asyncio.sleep(POLL_SECONDS)

    async def reach(self, wanted: int) -> None:
        """Start the missing workers, or stop those with the highest numbers, one by one."""
        numbers = self._numbers()
        for number in sorted(numbers, reverse=True)[: max(0, len(numbers) - wanted)]:
            await self._supervisor.remove(f"{WORKER}{number}")
        for number in _free(numbers, wanted - len(numbers)):
            self._supervisor.add(self._spec(number))

    def _numbers(self) -> set[int]:
        names = (child.spec.name for child in self._supervisor.processes)
        return {int(name.removeprefix(WORKER)) for name in names if name.startswith(WORKER)}

    def _spec(self, number: int) -> ProcessSpec:
        """With a metrics port that no other process has."""
        spec = worker_spec(self._settings, number)
        if not self._settings.metrics_port:
            return spec
        used = {
            int(child.spec.variables.get(METRICS_PORT, 0)) for child in self._supervisor.processes
        }
        port = next(_unused(self._settings.metrics_port, used))
        return structs.replace(spec, variables={METRICS_PORT: str(port)})


def requested_workers(data: Path, supervisor: int) -> int | None:
    """The number that was requested of the supervisor with this pid; None without a request."""
    try:
        request = msgspec.json.decode(_path(data).read_bytes(), type=WorkerRequest)
    except (OSError, msgspec.DecodeError):
        return None
    return request.workers if request.supervisor == supervisor else None


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


def _workers(status: ProcessesStatus) -> list[ProcessStatus]:
    return [each for each in status.processes if each.name.startswith(WORKER)]


def _path(data: Path) -> Path:
    return data / "workers.json"
