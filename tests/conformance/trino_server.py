"""A real Trino on this machine: a coordinator and a worker, over tables in an object store.

The coordinator plans and gives out rows; only the worker reads data files, as in a cluster.
"""

import asyncio
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from msgspec import json

from query.engine.trino.address import parse_address
from query.engine.trino.client import TrinoClient, TrinoError, TrinoUnreachable
from tests.conformance.trino_node import TrinoNode
from tests.installation import ROOT

CATALOG, SCHEMA, USER = "lake", "tidemark", "tidemark"
START_SECONDS = 240.0
STATEMENT_SECONDS = 30.0
HEAPS = {"coordinator": "1G", "worker": "1536M"}
MAX_MEMORY = {"coordinator": "400MB", "worker": "900MB"}
"""Of all queries on a node; the rest of the heap is what Trino keeps free."""
RESOURCE_GROUPS = ROOT / "deploy" / "compose" / "trino" / "resource-groups.json"
SOURCE = "tests"
READS = f"""
    SELECT node_id, SUM(physical_input_bytes)
      FROM system.runtime.tasks
     WHERE query_id IN (SELECT query_id FROM system.runtime.queries WHERE source <> '{SOURCE}')
     GROUP BY node_id
"""
NODES = "SELECT node_id FROM system.runtime.nodes WHERE state = 'active' ORDER BY node_id"


class TrinoServer:
    """A coordinator and a worker; all their state is in `folder`."""

    def __init__(self, folder: Path, store: Mapping[str, str]) -> None:
        self.folder = folder
        self.coordinator = TrinoNode(folder / "coordinator", HEAPS["coordinator"])
        self.worker = TrinoNode(folder / "worker", HEAPS["worker"])
        self._store = store
        """The variables by which a process reaches the object store."""

    @property
    def address(self) -> str:
        """The address as a setting."""
        return f"trino://{USER}@127.0.0.1:{self.coordinator.port}/{CATALOG}.{SCHEMA}"

    def start(self) -> None:
        """Start both nodes and wait until the worker takes work."""
        (self.folder / "metastore").mkdir(parents=True, exist_ok=True)
        for node in (self.coordinator, self.worker):
            self._start(node)
        self.wait_until_ready()

    def start_worker(self) -> None:
        """Start another worker in the place of one that was killed, and wait for it."""
        self._start(self.worker)
        self.wait_until_ready()

    def kill(self) -> None:
        """Kill both nodes at once."""
        self.worker.kill()
        self.coordinator.kill()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def rows(self, text: str) -> Sequence[Sequence[Any]]:
        """The rows of a statement, as JSON has them."""
        return asyncio.run(statement_rows(self.address, text))

    def bytes_read(self) -> Mapping[str, int]:
        """Bytes of data files that each node has read."""
        return bytes_read(self.address)

    def nodes(self) -> list[str]:
        """Names of the nodes that take work; empty while the coordinator does not answer."""
        try:
            return [name for (name,) in self.rows(NODES)]
        except (TrinoError, TrinoUnreachable):
            return []

    def query_states(self) -> Mapping[str, str]:
        """The state of each statement that the server knows, by its text."""
        url = f"{self.coordinator.url}/v1/query"
        request = urllib.request.Request(url, headers={"X-Trino-User": USER})
        with urllib.request.urlopen(request, timeout=30) as reply:
            known = json.decode(reply.read())
        return {one["query"]: one["state"] for one in known}

    def wait_until_ready(self) -> None:
        """Wait until the coordinator has plugins and a worker; RuntimeError when a node ends."""
        until = time.monotonic() + START_SECONDS
        nodes = (self.coordinator, self.worker)
        while not self._is_ready():
            ended = next((node for node in nodes if node.has_ended()), None)
            if ended or time.monotonic() > until:
                logs = "\n".join(f"{node.name}:\n{node.log()}" for node in nodes)
                raise RuntimeError(f"no Trino:\n{logs}")
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        if not (self.coordinator.has_started() and self.worker.has_started()):
            return False
        return self.nodes() == sorted(HEAPS)

    def _start(self, node: TrinoNode) -> None:
        node.start(self._config(node.name), {CATALOG: self._catalog()})

    def _config(self, name: str) -> Mapping[str, str]:
        common = {
            "discovery.uri": self.coordinator.url,
            "query.max-memory-per-node": MAX_MEMORY[name],
        }
        if name == "worker":
            return {"coordinator": "false", **common}
        self._set_resource_groups()
        return {"coordinator": "true", "node-scheduler.include-coordinator": "false", **common}

    def _set_resource_groups(self) -> None:
        """As the compose file has them."""
        etc = self.coordinator.folder / "etc"
        etc.mkdir(parents=True, exist_ok=True)
        path = etc / RESOURCE_GROUPS.name
        path.write_bytes(RESOURCE_GROUPS.read_bytes())
        (etc / "resource-groups.properties").write_text(
            f"resource-groups.configuration-manager=file\nresource-groups.config-file={path}\n"
        )

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


def bytes_read(address: str) -> Mapping[str, int]:
    """Bytes that each node has read for query services in the last 15 minutes."""
    rows = asyncio.run(statement_rows(address, READS))
    return {name: int(size or 0) for name, size in rows}


async def statement_rows(address: str, text: str) -> list[Sequence[Any]]:
    """The rows of a statement, as JSON has them."""
    pages = TrinoClient(parse_address(address), SOURCE).pages(text, STATEMENT_SECONDS)
    return [row async for page in pages for row in page.rows]
