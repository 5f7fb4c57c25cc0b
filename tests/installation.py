"""Installation: the whole of Tidemark as real processes on free ports.

with Installation(tmp_path, batch_seconds=0.3) as stack:
    reply = call("POST", f"{stack.collect_url}/track?website_id={stack.demo.website_id}", [...])
    eventually(lambda: stack.tidemark("status")["tables"][0]["rows"] == 1)
"""

import atexit
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from deploy.demo.demo_file import Demo, read_demo
from deploy.local.kafka.broker import Broker
from deploy.local.logs.log_files import last_lines
from deploy.local.processes.process_file import ProcessesStatus, read_processes_file
from schemas.runtime.environment import to_environment
from schemas.runtime.restore_state import read_restore_state
from schemas.runtime.settings import Settings

ROOT = Path(__file__).parents[1]
START_TIMEOUT_SECONDS = 90.0
STOP_TIMEOUT_SECONDS = 90.0

PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections."""

T = TypeVar("T")


class InstallationFailed(Exception):
    """The processes did not come up, or are not there."""


def _ports_of_this_process() -> Iterator[int]:
    """In any order; two workers of one run (pytest-xdist) never have the same."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = PORTS[number :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]
    return itertools.cycle(random.sample(ports, len(ports)))


_ports = _ports_of_this_process()


def free_port() -> int:
    """A port that no process uses and that was not returned before."""
    return next(port for port in _ports if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


PATIENCE = 4
"""How many times as long as usual is waited before a test fails: a busy machine is no fault."""


def eventually(check: Callable[[], T], seconds: float = 30.0, pause: float = 0.1) -> T:
    """What `check` answers as soon as it is true; AssertionError with its last answer if never.

    `seconds` is what an idle machine takes at most; a busy one has PATIENCE times as long.
    """
    patience = PATIENCE * seconds
    until = time.monotonic() + patience
    while not (result := check()):
        assert time.monotonic() < until, f"not within {patience:.0f} s; last answer: {result!r}"
        time.sleep(pause)
    return result


def format_storage(folder: Path) -> None:
    """Storage of a broker, formatted once in a session and copied: to format takes a JVM."""
    if not folder.exists():
        shutil.copytree(_formatted_storage(), folder)


@cache
def _formatted_storage() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-storage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Broker(folder, free_port(), free_port()).prepare()
    return folder


class Installation:
    """`tidemark up` with a data folder and ports of its own; further settings by their names."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        ports = ("collect_port", "query_port", "broker_port", "broker_controller_port")
        all_settings = {
            "demo": False,
            "batch_quiet_seconds": 0.0,
            "metrics_port": 0,
            **{name: free_port() for name in ports},
            **settings,
        }
        self.settings = Settings(data_dir=str(folder), **all_settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def collect_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.collect_port}"

    @property
    def query_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.query_port}"

    @property
    def data(self) -> Path:
        return self.settings.data

    @property
    def output(self) -> Path:
        """What `tidemark up` wrote on the screen."""
        return self.data / "up.out"

    @property
    def demo(self) -> Demo:
        """Organization, website, link and key of the first start."""
        demo = read_demo(self.data)
        assert demo, f"no demo in {self.data}"
        return demo

    @property
    def environment(self) -> dict[str, str]:
        """For `tidemark` and for services that join these."""
        return {**os.environ, **to_environment(self.settings), "PYTHONPATH": str(ROOT)}

    def start(self) -> Self:
        """Start, and return when everything is ready; what does not come up is ended."""
        self.begin()
        try:
            eventually(self._up, START_TIMEOUT_SECONDS)
        except BaseException:  # a person's Ctrl-C, too
            self.stop()
            raise
        return self

    def begin(self) -> subprocess.Popen[bytes]:
        """Start without waiting for anything."""
        self.data.mkdir(parents=True, exist_ok=True)
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "deploy.cli", "up"),
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return self._process

    def stop(self) -> int:
        """Stop in order; the exit code of `tidemark up`."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_TIMEOUT_SECONDS)
        finally:
            self._process.kill()  # harmless when it has ended; its children die with it
            self._process.wait()

    def kill(self) -> None:
        """End everything at once; for when no test looks at how it stops."""
        if self._process is None or self._process.poll() is not None:
            return
        pids = self.pids().values()
        self._process.kill()
        self._process.wait()
        for pid in pids:
            with suppress(ProcessLookupError):  # most ended with their supervisor
                os.kill(pid, signal.SIGKILL)

    @property
    def processes_status(self) -> ProcessesStatus:
        """What runs."""
        account = read_processes_file(self.data)
        if account is None:
            raise InstallationFailed(f"nothing runs on {self.data}\n{last_lines(self.output)}")
        return account

    def pids(self) -> Mapping[str, int]:
        """Pids by name of the process: broker, collector-1, worker-1, backfill, keeper, query-1."""
        return {entry.name: entry.pid for entry in self.processes_status.processes if entry.pid}

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send one process a signal; the pid that got it."""
        pid = self.pids()[name]
        os.kill(pid, number)
        return pid

    def tidemark(self, *arguments: str) -> Any:
        """Run `tidemark … --json` with these settings; what it printed."""
        done = subprocess.run(
            (sys.executable, "-m", "deploy.cli", *arguments, "--json"),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def log(self, name: str, lines: int = 40) -> str:
        """The end of a process's log."""
        return last_lines(self.data / "logs" / f"{name}.log", lines)

    def _up(self) -> bool:
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise InstallationFailed(
                f"`tidemark up` ended with {code}\n{last_lines(self.output, 40)}"
            )
        account = read_processes_file(self.data)
        if account is None or account.supervisor != self._process.pid:
            return False
        is_set_up = read_demo(self.data) is not None or read_restore_state(self.data) is not None
        return account.ready and is_set_up

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
