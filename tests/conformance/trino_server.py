"""A real Trino on this machine: one node, its Delta Lake connector over an object store."""

import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from msgspec import json

from tests.conformance.java import find_java
from tests.conformance.trino_download import trino_folder
from tests.installation import free_port

CATALOG, SCHEMA, USER = "lake", "tidemark", "tidemark"
START_SECONDS = 180.0
JVM_FLAGS = (
    *("-Xmx2G", "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError"),
    *("-Djdk.attach.allowAttachSelf=true", "--add-modules=jdk.incubator.vector"),
    *("--enable-native-access=ALL-UNNAMED", "-Dconfig=etc/config.properties"),
    "-Dlog.levels-file=etc/log.properties",
)


class TrinoServer:
    """A coordinator that is its own worker; all its state is in `folder`."""

    def __init__(self, folder: Path, store: Mapping[str, str]) -> None:
        self.folder = folder
        self.port = free_port()
        self._store = store
        """The variables by which a process reaches the object store."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address as a setting."""
        return f"trino://{USER}@127.0.0.1:{self.port}/{CATALOG}.{SCHEMA}"

    def start(self) -> None:
        """Start the server and wait until it takes statements."""
        server = trino_folder()
        self._configure(server)
        node = [f"-D{name}={value}" for name, value in self._node().items()]
        command = [str(find_java()), *JVM_FLAGS, *node, "-cp", f"{server}/lib/*"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "io.trino.server.TrinoServer"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_ready()

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def query_states(self) -> Mapping[str, str]:
        """The state of each statement that the server knows, by its text."""
        url = f"http://127.0.0.1:{self.port}/v1/query"
        request = urllib.request.Request(url, headers={"X-Trino-User": USER})
        with urllib.request.urlopen(request, timeout=30) as reply:
            known = json.decode(reply.read())
        return {one["query"]: one["state"] for one in known}

    def _configure(self, server: Path) -> None:
        etc = self.folder / "etc"
        (etc / "catalog").mkdir(parents=True, exist_ok=True)
        (self.folder / "metastore").mkdir(exist_ok=True)
        (self.folder / "secrets-plugin").mkdir(exist_ok=True)
        if not (self.folder / "plugin").exists():
            (self.folder / "plugin").symlink_to(server / "plugin")
        _write(etc / "config.properties", self._config())
        _write(etc / "log.properties", {"io.trino": "WARN", "io.airlift": "WARN"})
        _write(etc / "catalog" / f"{CATALOG}.properties", self._catalog())

    def _node(self) -> Mapping[str, str]:
        return {
            "node.environment": "conformance",
            "node.data-dir": str(self.folder / "data"),
            "node.internal-address": "127.0.0.1",
            "node.bind-ip": "127.0.0.1",
        }

    def _config(self) -> Mapping[str, str]:
        return {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(self.port),
            "discovery.uri": f"http://127.0.0.1:{self.port}",
            "query.max-memory-per-node": "1GB",
        }

    def _catalog(self) -> Mapping[str, str]:
        store = self._store
        return {
            "connector.name": "delta_lake",
            "hive.metastore": "file",
            "hive.metastore.catalog.dir": "local:///metastore",
            "fs.native-local.enabled": "true",
            "local.location": str(self.folder),
            "delta.register-table-procedure.enabled": "true",
            "fs.native-s3.enabled": "true",
            "s3.endpoint": store["AWS_ENDPOINT_URL"],
            "s3.region": store["AWS_REGION"],
            "s3.path-style-access": "true",
            "s3.aws-access-key": store["AWS_ACCESS_KEY_ID"],
            "s3.aws-secret-key": store["AWS_SECRET_ACCESS_KEY"],
        }

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"no Trino:\n{(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self.port}/v1/info"
            with urllib.request.urlopen(url, timeout=5) as reply:
                return json.decode(reply.read())["starting"] is False
        except OSError:
            return False


def _write(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
