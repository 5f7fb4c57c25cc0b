"""The numbers of processes change by request, while the other processes keep running."""

import asyncio
import os
from pathlib import Path

import pytest
from msgspec import structs

from deploy.local.process_control import (
    CannotScale,
    ProcessCounts,
    requested_counts,
    scale_processes,
)
from deploy.local.process_list import SCALED_SPECS, Role
from deploy.local.processes.process import METRICS_PORT, ProcessSpec, ProcessState, ShutdownStage
from deploy.local.processes.process_file import current_status, write_processes_file
from deploy.local.processes.supervisor import Supervisor
from schemas.runtime.settings import Settings
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses, alive

PORT = 4100


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedProcesses:
    """Scripted processes; those that are added are scripted, too."""
    processes = ScriptedProcesses(tmp_path)

    def worker(_settings: Settings, number: int) -> ProcessSpec:
        return processes.spec(f"worker-{number}", ShutdownStage.STREAM)

    def query(_settings: Settings, number: int) -> ProcessSpec:
        return processes.spec(f"query-{number}", ShutdownStage.QUERY)

    monkeypatch.setitem(SCALED_SPECS, "worker", worker)
    monkeypatch.setitem(SCALED_SPECS, "query", query)
    return processes


async def scaled(
    supervisor: Supervisor, settings: Settings, count: int, role: Role = "worker"
) -> list[str]:
    """Names of the processes after a request, which the supervisor sees and answers by files."""
    follows = asyncio.create_task(ProcessCounts(settings, supervisor, os.getpid()).run())
    write_processes_file(settings.data, current_status(supervisor.processes))
    request = asyncio.create_task(asyncio.to_thread(scale_processes, settings, role, count))
    while not request.done():
        write_processes_file(settings.data, current_status(supervisor.processes))
        await asyncio.sleep(0.05)
    follows.cancel()
    return [found.name for found in await request]


def test_workers_are_added_and_removed_and_others_keep_running(scripted: ScriptedProcesses) -> None:
    settings = Settings(data_dir=str(scripted.folder), metrics_port=PORT)

    async def scale(supervisor: Supervisor) -> None:
        worker, query = supervisor.processes
        pids = (worker.pid, query.pid)
        assert await scaled(supervisor, settings, 3) == ["worker-1", "worker-2", "worker-3"]
        shown = current_status(supervisor.processes).processes
        ports = [PORT, PORT + 2, PORT + 3, PORT + 1]
        assert [each.metrics_port for each in shown] == ports
        given = [child.spec.variables.get(METRICS_PORT) for child in supervisor.processes]
        assert given == [str(port) for port in ports]
        added = [child.pid for child in supervisor.processes[1:3]]
        assert await scaled(supervisor, settings, 2, "query") == ["query-1", "query-2"]
        assert await scaled(supervisor, settings, 1, "query") == ["query-1"]
        assert len(supervisor.processes) == 4  # the request for workers still holds
        assert await scaled(supervisor, settings, 1) == ["worker-1"]
        assert supervisor.processes == [worker, query]
        assert (worker.pid, query.pid) == pids
        assert not any(alive(pid) for pid in added if pid)
        assert scripted.lines()[-4:] == [
            "worker-3 told",
            "worker-3 left",
            "worker-2 told",
            "worker-2 left",
        ]

    specs = [
        structs.replace(scripted.spec(name, stage), variables={METRICS_PORT: str(PORT + number)})
        for number, (name, stage) in enumerate(
            (("worker-1", ShutdownStage.STREAM), ("query-1", ShutdownStage.QUERY))
        )
    ]
    scripted.supervise(*specs, once_ready=scale)


def test_added_workers_end_with_the_supervisor_and_their_logs_are_written(
    scripted: ScriptedProcesses,
) -> None:
    settings = Settings(data_dir=str(scripted.folder), metrics_port=0)

    async def scale(supervisor: Supervisor) -> None:
        assert await scaled(supervisor, settings, 2) == ["worker-1", "worker-2"]

    children = scripted.supervise(scripted.spec("worker-1", ShutdownStage.STREAM), once_ready=scale)

    assert [child.state for child in children] == [ProcessState.STOPPED] * 2
    assert {"worker-1 left", "worker-2 left"} <= {*scripted.lines()}


def test_a_first_worker_that_was_removed_comes_back_under_its_name(
    scripted: ScriptedProcesses,
) -> None:
    settings = Settings(data_dir=str(scripted.folder), metrics_port=0)

    async def scale(supervisor: Supervisor) -> None:
        assert await scaled(supervisor, settings, 1) == ["worker-1"]
        assert await scaled(supervisor, settings, 2) == ["worker-1", "worker-2"]

    scripted.supervise(
        scripted.spec("worker-1", ShutdownStage.STREAM),
        scripted.spec("worker-2", ShutdownStage.STREAM),
        once_ready=scale,
    )

    assert scripted.lines().count("worker-2 started") == 2


def test_a_request_to_an_earlier_supervisor_is_ignored(scripted: ScriptedProcesses) -> None:
    settings = Settings(data_dir=str(scripted.folder), metrics_port=0)

    async def ask_another(supervisor: Supervisor) -> None:
        write_processes_file(settings.data, current_status(supervisor.processes))
        with pytest.raises(
            CannotScale, match="not 2 ready worker processes after 0 s: worker-1 is ready"
        ):
            await asyncio.to_thread(scale_processes, settings, "worker", 2, 0.2)
        assert requested_counts(settings.data, os.getpid()) == {"worker": 2}
        assert requested_counts(settings.data, os.getpid() + 1) == {}

    scripted.supervise(scripted.spec("worker-1", ShutdownStage.STREAM), once_ready=ask_another)


def test_more_workers_than_partitions_are_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), partitions=4)

    with pytest.raises(CannotScale, match="TIDEMARK_PARTITIONS is 4; raise it first"):
        scale_processes(settings, "worker", 5)


def test_nothing_is_scaled_where_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(CannotScale, match="start it with `tidemark up`"):
        scale_processes(Settings(data_dir=str(tmp_path)), "query", 2)
