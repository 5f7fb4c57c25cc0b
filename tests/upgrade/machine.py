"""One machine whose processes are of two versions: each is started and ended by itself."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.local.kafka.broker import Broker
from schemas.runtime.heartbeat import read_heartbeats
from tests.installation import eventually, format_storage, free_port
from tests.upgrade.versions import Version

START_SECONDS, STOP_SECONDS = 90.0, 90.0

ROLES: Mapping[str, tuple[str, ...]] = {
    "collector": ("ingest",),
    "worker": ("stream", "worker"),
    "keeper": ("stream", "keeper"),
    "query": ("query",),
}
"""Module and arguments of each kind of process."""
PREPARATION = """
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.registry.migrate import migrate
from schemas.runtime.environment import load_settings

settings = load_settings()
migrate(settings.registry_url)
ensure_topics(settings.kafka, required_topics(settings))
"""


class Machine:
    """Broker, data folder and ports; processes share the ports and the folder."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._folder = folder
        self._ports = {"collector": free_port(), "query": free_port()}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        format_storage(folder / "kafka")
        self._broker = Broker(folder / "kafka", port=free_port(), controller_port=free_port())

    @property
    def collect_url(self) -> str:
        return f"http://127.0.0.1:{self._ports['collector']}"

    @property
    def query_url(self) -> str:
        return f"http://127.0.0.1:{self._ports['query']}"

    @property
    def lake(self) -> str:
        return str(self.data / "lake")

    def __enter__(self) -> "Machine":
        self.data.mkdir(parents=True)
        self._broker.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._broker.__exit__(*raised)

    def prepare(self, version: Version) -> None:
        """Create registry and topics as a version does; the first ones had no commands for it."""
        if (version.tree / "deploy" / "cli" / "migrate.py").exists():
            self.tidemark(version, "migrate")
            self.tidemark(version, "topics", "--declare")
            return
        subprocess.run(
            (sys.executable, "-c", PREPARATION),
            cwd=version.tree,
            env=self._environment(version),
            check=True,
        )

    def tidemark(self, version: Version, *arguments: str) -> Any:
        """Run a command of a version; what it printed, as JSON if it is."""
        done = subprocess.run(
            version.command("deploy.cli", *arguments),
            cwd=version.tree,
            env=self._environment(version),
            capture_output=True,
            text=True,
            check=False,
        )
        permitted = (0, 1) if arguments[0] == "doctor" else (0,)  # 1: it has findings
        assert done.returncode in permitted, f"tidemark {arguments[0]}: {done.stderr}"
        return json.loads(done.stdout) if "--json" in arguments else done.stdout.strip()

    def start(self, version: Version, role: str, number: int) -> str:
        """Start one process and return its name when it is ready."""
        name = f"{role}-{number}"
        module, *arguments = ROLES[role]
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(
                version.command(module, *arguments, "--name", name),
                cwd=version.tree,
                env=self._environment(version),
                stdout=log,
                stderr=log,
            )
        self._processes[name] = process
        eventually(lambda: self._is_ready(name, process), START_SECONDS)
        return name

    def stop(self, name: str) -> float:
        """End one process in order; the seconds that it took."""
        process, began = self._processes.pop(name), time.monotonic()
        process.terminate()
        code = process.wait(STOP_SECONDS)
        assert code == 0, (
            f"{name} ended with exit code {code}\n{self.log(name).read_text()[-2000:]}"
        )
        return time.monotonic() - began

    def log(self, name: str) -> Path:
        """The log of a process."""
        return self._folder / f"{name}.log"

    def _is_ready(self, name: str, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, f"{name} ended:\n{self.log(name).read_text()[-2000:]}"
        beats = read_heartbeats(self.data / "run")
        return any((beat.pid, beat.state) == (process.pid, "ready") for beat in beats)

    def _environment(self, version: Version) -> dict[str, str]:
        settings = {
            "DATA_DIR": self.data,
            "KAFKA": self._broker.address,
            "PARTITIONS": 4,
            "COLLECT_PORT": self._ports["collector"],
            "QUERY_PORT": self._ports["query"],
            "METRICS_PORT": 0,
            "BATCH_SECONDS": 0.5,
            "SESSION_SECONDS": 6,
            "SMALL_PARTS": 10,
            "COMPACT_SECONDS": 1,
        }
        own = {f"TIDEMARK_{name}": str(value) for name, value in settings.items()}
        return {**os.environ, **own, "PYTHONPATH": str(version.tree)}
