"""One process is restarted in order while the others keep running."""

import asyncio
import os
from itertools import count
from pathlib import Path

import msgspec
import pytest

from deploy.local.process_control import (
    CannotRestart,
    ProcessCounts,
    restart_process,
    restart_without_gap,
)
from deploy.local.process_list import SCALED_SPECS
from deploy.local.processes.process import (
    ProcessSpec,
    ShutdownStage,
    take_restart_order,
    write_restart_order,
)
from deploy.local.processes.process_file import (
    ProcessStatus,
    current_status,
    write_processes_file,
)
from deploy.local.processes.supervisor import Supervisor
from schemas.runtime.settings import Settings
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses


async def restarted(supervisor: Supervisor, data: Path, name: str) -> ProcessStatus:
    write_processes_file(data, current_status(supervisor.processes))
    restart = asyncio.create_task(asyncio.to_thread(restart_process, data, name))
    while not restart.done():
        write_processes_file(data, current_status(supervisor.processes))
        await asyncio.sleep(0.05)
    return await restart


def test_a_process_ends_in_order_and_is_ready_again_and_others_keep_running(tmp_path: Path) -> None:
    scripted = ScriptedProcesses(tmp_path)

    async def restart_the_worker(supervisor: Supervisor) -> None:
        worker, query = supervisor.processes
        first, other = worker.pid, query.pid
        process = await restarted(supervisor, tmp_path, "worker")
        assert process.pid == worker.pid != first
        assert query.pid == other
        assert scripted.lines()[2:] == ["worker told", "worker left", "worker started"]

    worker, query = scripted.supervise(
        scripted.spec("worker", ShutdownStage.STREAM),
        scripted.spec("query", ShutdownStage.QUERY),
        once_ready=restart_the_worker,
    )

    assert (worker.restarts, query.restarts) == (0, 0)
    assert worker.ended_count == 1


def test_an_ordered_restart_is_no_failure_whatever_the_exit_code(tmp_path: Path) -> None:
    scripted = ScriptedProcesses(tmp_path)

    async def restart_the_broker(supervisor: Supervisor) -> None:
        process = await restarted(supervisor, tmp_path, "broker")
        assert (process.reason, process.restarts) == ("", 0)

    scripted.supervise(
        scripted.spec("broker", ShutdownStage.KAFKA, "exits-143"), once_ready=restart_the_broker
    )


def test_an_order_counts_for_the_process_that_it_names_only(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    write_restart_order(log, 17)

    assert not take_restart_order(log, 18)
    assert not take_restart_order(log, 17)
    write_restart_order(log, 17)
    assert take_restart_order(log, 17)


def test_a_process_that_cannot_start_again_is_said_at_once(tmp_path: Path) -> None:
    scripted = ScriptedProcesses(tmp_path)
    starts = count(1)

    def fail_later() -> None:
        if next(starts) > 1:
            raise OSError("no memory")

    async def restart_the_worker(supervisor: Supervisor) -> None:
        with pytest.raises(CannotRestart, match=r"worker ended 3 times since: .*no memory"):
            await restarted(supervisor, tmp_path, "worker")

    spec = scripted.spec("worker", ShutdownStage.STREAM)
    scripted.supervise(
        msgspec.structs.replace(spec, before=fail_later), once_ready=restart_the_worker
    )


def test_an_unknown_process_is_refused_with_the_names(tmp_path: Path) -> None:
    scripted = ScriptedProcesses(tmp_path)

    async def restart_another(supervisor: Supervisor) -> None:
        with pytest.raises(CannotRestart, match="no process worker-9; choose one of worker"):
            await restarted(supervisor, tmp_path, "worker-9")

    scripted.supervise(scripted.spec("worker", ShutdownStage.STREAM), once_ready=restart_another)


def test_nothing_is_restarted_where_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(CannotRestart, match="start it with `tidemark up`"):
        restart_process(tmp_path, "worker")


@pytest.mark.parametrize("is_ready", [True, False])
def test_a_second_process_runs_only_while_the_first_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ready: bool
) -> None:
    scripted = ScriptedProcesses(tmp_path)
    settings = Settings(data_dir=str(tmp_path), metrics_port=0)
    script = () if is_ready else ("sulks",)

    def spec(_settings: Settings, number: int) -> ProcessSpec:
        return scripted.spec(f"query-{number}", ShutdownStage.QUERY, *script)

    async def restart_the_query(supervisor: Supervisor) -> None:
        [query] = supervisor.processes
        first = query.pid
        follows = asyncio.create_task(ProcessCounts(settings, supervisor, os.getpid()).run())
        write_processes_file(tmp_path, current_status(supervisor.processes))
        seconds = 30.0 if is_ready else 1.0
        restart = asyncio.create_task(
            asyncio.to_thread(restart_without_gap, settings, "query-1", seconds)
        )
        while not restart.done():
            write_processes_file(tmp_path, current_status(supervisor.processes))
            await asyncio.sleep(0.05)
        if is_ready:
            assert (await restart).pid == query.pid != first
        else:
            with pytest.raises(CannotRestart, match="no second query beside it: not 2 ready"):
                await restart
            assert query.pid == first
        assert supervisor.processes == [query]
        follows.cancel()

    monkeypatch.setitem(SCALED_SPECS, "query", spec)
    scripted.supervise(scripted.spec("query-1", ShutdownStage.QUERY), once_ready=restart_the_query)

    assert "query-2 started" in scripted.lines()
