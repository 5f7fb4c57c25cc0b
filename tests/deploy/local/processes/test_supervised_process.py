"""One process: its backoff, its timeout, its last lines."""

from deploy.local.logs.log_pipes import LogPipe
from deploy.local.processes.process import ShutdownStage
from deploy.local.processes.supervised_process import SupervisedProcess
from deploy.local.processes.supervisor import Supervisor
from tests.deploy.local.processes.scripted_processes import ScriptedProcesses, at_once, until


def test_each_end_in_a_row_doubles_the_pause_up_to_ten_seconds(scripted: ScriptedProcesses) -> None:
    pipe = LogPipe(scripted.folder / "log")
    child = SupervisedProcess(scripted.spec("worker", ShutdownStage.STREAM), {}, pipe)
    pipe.close()
    pauses = []
    for ends in range(1, 9):
        child.consecutive_exits = ends
        pauses.append(child.backoff_seconds())

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_stubborn_process_is_killed_when_its_time_is_over(scripted: ScriptedProcesses) -> None:
    (child,) = scripted.supervise(
        scripted.spec("worker", ShutdownStage.STREAM, "stubborn", stop_seconds=0.3),
        once_ready=at_once,
    )

    assert scripted.lines() == ["worker started", "worker told"]
    assert child.pid is None


def test_the_last_words_of_a_dying_process_are_in_its_log(scripted: ScriptedProcesses) -> None:
    async def see_it_end(supervisor: Supervisor) -> None:
        await until(lambda: supervisor.processes[0].restarts > 0)

    scripted.supervise(
        scripted.spec("worker", ShutdownStage.STREAM, "dies=0.3"), once_ready=see_it_end
    )

    assert (scripted.folder / "logs" / "worker.log").read_text().startswith("my last words\n")
