"""A running process whose port of metrics something else has is named by status and doctor."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.local.doctor import CheckContext
from deploy.local.doctor.processes import PORTS_CHECK
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, write_processes_file
from deploy.local.processes.readiness import answers_ready
from deploy.local.status import system_status
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from tests.installation import ROOT, eventually
from tests.registries import make_registry


@contextmanager
def keeper(settings: Settings) -> Iterator[int]:
    """A keeper and what its supervisor writes of it; gives its pid."""
    make_registry(settings.registry_url)
    environment = {**os.environ, **to_environment(settings)}
    process = subprocess.Popen(
        [sys.executable, "-m", "stream", "keeper"], cwd=ROOT, env=environment
    )
    entry = ProcessStatus("keeper", ProcessState.READY, process.pid, 0, "", "keeper.log")
    write_processes_file(settings.data, ProcessesStatus(os.getpid(), True, (entry,), now_ms()))
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def named_by_status(settings: Settings) -> Sequence[str]:
    return [problem for problem in system_status(settings).problems if "metrics" in problem]


def named_by_the_doctor(settings: Settings) -> Sequence[str]:
    findings = PORTS_CHECK.run(CheckContext(settings))
    return [found.problem for found in findings if "metrics" in found.problem]


def test_a_taken_port_of_metrics_is_named_until_the_process_has_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = Settings(data_dir=str(tmp_path), metrics_port=port)
        problem = f"its metrics are not served: port {port} is in use by another program"
        with keeper(settings):
            eventually(lambda: bool(named_by_status(settings)))
            assert named_by_status(settings) == [f"keeper: {problem}"]
            assert named_by_the_doctor(settings) == [f"keeper: {problem}"]

            other.close()
            eventually(lambda: answers_ready("127.0.0.1", port))
            eventually(lambda: not named_by_status(settings))
            assert named_by_the_doctor(settings) == []


def test_a_process_that_has_ended_names_no_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = Settings(data_dir=str(tmp_path), metrics_port=other.getsockname()[1])
        with keeper(settings) as pid:
            eventually(lambda: bool(named_by_status(settings)))
            os.kill(pid, signal.SIGTERM)
            eventually(lambda: not (tmp_path / "run" / "keeper.json").exists())

            assert named_by_status(settings) == named_by_the_doctor(settings) == []
