"""The query service with callers that request too much, or never read the response.

One process over 3,000 paths, with answers of at most 8 MiB; the figures are those of larger ones in
small.
"""

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec import Struct

from schemas.registry import Key, RegistryStore
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from tests.http_client import Reply, call
from tests.installation import ROOT, eventually, free_port
from tests.query.lake import Lake, a_view
from tests.query.query_service import NOVEMBER, fill_registry
from tests.registries import make_registry

PATHS = 3_000
MB = 2**20
ANSWER = 8 * MB
"""More than the kernel takes of an answer that nobody reads."""
ORDINARY = {"parameters": ["summary"], **NOVEMBER}
WHOLE = {"parameters": ["top_pages"] * 100, "limit": 10_000, **NOVEMBER}
"""A hundred times all paths: 300,000 rows, some 50 MB."""


class Service(Struct):
    """A query process, and requests to it."""

    pid: int
    port: int
    key: str
    other_key: str
    registry: str

    def ask(self, body: object) -> Reply:
        url = f"http://127.0.0.1:{self.port}/v1/query?website_id=shop"
        return call("POST", url, body, {"x-api-key": self.key})

    def begin(self, body: object) -> socket.socket:
        """Send a query without reading the response."""
        payload = json.dumps(body).encode()
        head = f"POST /v1/query?website_id=shop HTTP/1.1\r\ncontent-length: {len(payload)}\r\n"
        return self.sent(head.encode(), self.key, payload)

    def sent(self, head: bytes, key: str, body: bytes = b"") -> socket.socket:
        """A request on a connection of its own with a small receive buffer."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", self.port))
        client.sendall(head + f"host: x\r\nx-api-key: {key}\r\n\r\n".encode() + body)
        return client

    @property
    def rss(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    @property
    def connections(self) -> int:
        """How many it holds."""
        found = 0
        for file in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found += str(file.readlink()).startswith("socket:")
        return found

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def ready(self) -> bool:
        try:
            return call("GET", f"http://127.0.0.1:{self.port}/health/ready").status == 200
        except OSError:
            return False


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("service")
    settings = Settings(
        data_dir=str(root),
        query_port=free_port(),
        answer_bytes=ANSWER,
        stalled_seconds=0.5,
        query_seconds=120,  # a busy machine is no fault of the service
    )
    make_registry(settings.registry_url)
    store = RegistryStore(settings.registry_url)
    keys = fill_registry(store)
    store.close()
    Lake(root / "lake").holds(*(a_view(f"/products/{n:0100}") for n in range(PATHS)))
    command = [sys.executable, "-m", "query"]
    with subprocess.Popen(command, cwd=ROOT, env=to_environment(settings)) as process:
        running = Service(
            process.pid,
            settings.query_port,
            keys["acme"],
            keys["acme-shop"],
            settings.registry_url,
        )
        try:
            eventually(running.ready)
            running.ask({**WHOLE, "parameters": ["top_pages"]})  # what it needs for one, it has
            yield running
        finally:
            process.terminate()


def watched(look: Callable[[], int], seconds: float) -> Iterator[int]:
    """What is seen, twenty times a second."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield look()
        time.sleep(0.05)


def test_one_body_of_2500_questions_takes_bounded_memory_and_time(service: Service) -> None:
    before, worked = service.rss, service.cpu_seconds

    with ThreadPoolExecutor(1) as threads:
        huge = threads.submit(service.ask, [WHOLE] * 25)
        others = 0
        while not huge.done():
            assert service.ask(ORDINARY).json["data"][0]["data"][0]["pageviews"] == PATHS
            others += not huge.done()
        reply = huge.result()

    entries = [entry for result in reply.json["results"] for entry in result.get("data", ())]
    fitting = [entry for entry in entries if entry["success"]]
    refused = {entry["code"] for entry in entries if not entry["success"]}
    assert fitting
    assert all(len(entry["data"]) == PATHS for entry in fitting)
    assert refused == {"RESULT_TOO_LARGE"}
    assert len(json.dumps([entry["data"] for entry in fitting], separators=(",", ":"))) < ANSWER
    assert service.rss - before < 150 * MB
    assert service.cpu_seconds - worked < 10
    assert others


def test_clients_that_read_nothing_hold_a_few_answers_and_are_let_go(service: Service) -> None:
    before, free = service.rss, service.connections

    with ExitStack() as clients:
        for _ in range(4):
            clients.enter_context(service.begin(WHOLE))
        eventually(lambda: service.connections >= free + 4, 5)
        most = max(watched(lambda: service.rss, 1.0))
        assert service.ask(ORDINARY).json["data"][0]["success"]
        eventually(lambda: service.connections <= free, 15)

    assert most - before < 4 * ANSWER + 128 * MB  # whole answers alone would be some 200 MB


def test_work_stops_when_its_client_has_left(service: Service) -> None:
    heavy = {**WHOLE, "filters": [{"field": "path", "operator": "contains", "value": "/" * 40}]}
    client = service.begin([heavy] * 25)
    before = service.cpu_seconds
    eventually(lambda: service.cpu_seconds - before > 0.2, pause=0.02)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()  # at once, as when its process is killed

    def is_idle() -> bool:
        worked = service.cpu_seconds
        time.sleep(0.5)
        return service.cpu_seconds - worked < 0.1

    assert is_idle() or is_idle()  # the second when the machine was late to notice


def test_an_export_under_way_ends_when_its_key_is_revoked(service: Service) -> None:
    target = f"/v1/export/events?website_id=shop&{urlencode(NOVEMBER)}"
    with service.sent(f"GET {target} HTTP/1.1\r\n".encode(), service.other_key) as client:
        first = client.recv(4_096)
        revoke(service.registry, service.other_key)
        # Looked at twice a second by the service, and by the export once.
        slowly = [client.recv(4_096) for _ in watched(lambda: 0, 2)]
        rest = b"".join(iter(lambda: client.recv(65_536), b""))

    assert first.startswith(b"HTTP/1.1 200")
    assert all(slowly)
    assert not rest.endswith(b"0\r\n\r\n")  # it broke off


def revoke(registry: str, text: str) -> None:
    """Revoke the key of that text."""
    store = RegistryStore(registry)
    try:
        [key] = [each for each in store.list(Key) if each.id in text]
        store.update(Key, key.id, now_ms(), revoked_at=now_ms())
    finally:
        store.close()
