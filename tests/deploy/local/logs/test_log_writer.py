"""The process that writes logs: rotation, and what its end does to others."""

import psutil

from deploy.local.processes.process import ShutdownStage
from deploy.local.processes.supervisor import Supervisor
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses, until


def test_a_log_rotates_while_its_process_runs_and_no_line_is_torn(
    scripted: ScriptedProcesses,
) -> None:
    logs = scripted.folder / "logs"

    async def see_it_rotate(_supervisor: Supervisor) -> None:
        await until(lambda: (logs / "query.old.log").exists())

    (child,) = scripted.supervise(
        scripted.spec("query", ShutdownStage.QUERY, "chatters"),
        once_ready=see_it_rotate,
        log_bytes=200_000,
    )

    sizes = {path.name: path.stat().st_size for path in logs.iterdir()}
    assert child.restarts == 0
    assert max(sizes.values()) < 200_000 + 65_536
    old, new = ((logs / name).read_text().splitlines() for name in ("query.old.log", "query.log"))
    numbers = [int(line.rpartition(" ")[2]) for line in (*old, *new)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_nobody_waits_for_a_log_writer_that_is_frozen_or_dead(scripted: ScriptedProcesses) -> None:
    log = scripted.folder / "logs" / "query.log"

    async def freeze_then_kill_the_writer(supervisor: Supervisor) -> None:
        (child,) = supervisor.processes
        await until(lambda: log.exists())
        (writer,) = [p for p in psutil.Process().children() if "log_writer.py" in p.cmdline()[2]]
        writer.suspend()
        before = scripted.lines().count("query chattered")
        await until(
            lambda: scripted.lines().count("query chattered") > before + 2
        )  # pipes are full
        writer.kill()
        size = log.stat().st_size
        await until(lambda: log.stat().st_size > size)
        assert child.restarts == 0

    scripted.supervise(
        scripted.spec("query", ShutdownStage.QUERY, "chatters"),
        once_ready=freeze_then_kill_the_writer,
    )
