"""One JVM of Trino: a coordinator that plans, or a worker that reads."""

import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from msgspec import json

from tests.conformance.java import find_java
from tests.conformance.trino_download import trino_folder
from tests.installation import free_port

ENVIRONMENT = "conformance"
JVM_FLAGS = (
    *("-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError"),
    *("-Djdk.attach.allowAttachSelf=true", "--add-modules=jdk.incubator.vector"),
    *("--enable-native-access=ALL-UNNAMED", "-Dconfig=etc/config.properties"),
    "-Dlog.levels-file=etc/log.properties",
)


class TrinoNode:
    """A node with its configuration in `folder`; `config` is what differs by its part.

    `heap` is an argument of the JVM, such as 1G. Of it a third is headroom by default, and
    queries may use as much.
    """

    def __init__(self, folder: Path, heap: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._heap = heap
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Its id in the cluster."""
        return self.folder.name

    @property
    def url(self) -> str:
        """Where it answers HTTP."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, config: Mapping[str, str], catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """Start it without waiting; `catalogs` are the properties of each catalog."""
        server = trino_folder()
        self._configure(server, config, catalogs)
        node = [f"-D{name}={value}" for name, value in self._node().items()]
        command = [str(find_java()), f"-Xmx{self._heap}", *JVM_FLAGS, *node]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "-cp", f"{server}/lib/*", "io.trino.server.TrinoServer"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def log(self) -> str:
        """The end of its log."""
        return (self.folder / "log").read_text()[-3000:]

    def has_started(self) -> bool:
        """Whether it answers, with all its plugins loaded."""
        try:
            with urllib.request.urlopen(f"{self.url}/v1/info", timeout=5) as reply:
                return json.decode(reply.read())["starting"] is False
        except OSError:
            return False

    def _configure(
        self, server: Path, config: Mapping[str, str], catalogs: Mapping[str, Mapping[str, str]]
    ) -> None:
        etc = self.folder / "etc"
        (etc / "catalog").mkdir(parents=True, exist_ok=True)
        (self.folder / "secrets-plugin").mkdir(exist_ok=True)
        if not (self.folder / "plugin").exists():
            (self.folder / "plugin").symlink_to(server / "plugin")
        _write(etc / "config.properties", {"http-server.http.port": str(self.port), **config})
        _write(etc / "log.properties", {"io.trino": "WARN", "io.airlift": "WARN"})
        for name, properties in catalogs.items():
            _write(etc / "catalog" / f"{name}.properties", properties)

    def _node(self) -> Mapping[str, str]:
        return {
            "node.id": self.name,
            "node.environment": ENVIRONMENT,
            "node.data-dir": str(self.folder / "data"),
            "node.internal-address": "127.0.0.1",
            "node.bind-ip": "127.0.0.1",
        }


def _write(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
