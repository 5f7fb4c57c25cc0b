"""Attacks: memory of a service, and latency of its well-behaved clients during an attack.

Each attack comes from a process of its own. A well-behaved client asks all the while on one
connection; its p99 beside the attack is held against its p99 beside a neighbour that uses as much
of the machine and leaves the service alone.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.bench.attacker import ON_COLLECTOR, ON_QUERY, Attack
from tests.bench.results import BenchmarkResult, Figure
from tests.flow.tenant import DAY, Tenant
from tests.installation import ROOT, Installation

SECONDS = 4.0
PAUSE_SECONDS = 0.002
BUSY = "while True: pass"
ALONE = "beside a busy process"


class Client:
    """A well-behaved client: one connection, one request after the other."""

    def __init__(self, url: str, target: str, body: object, key: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=15)
        self._target = target
        self._body = json.dumps(body)
        self._headers = {"x-api-key": key, "content-type": "application/json"}

    def p99_ms(self, seconds: float, look: Callable[[], None]) -> float:
        """99th percentile of the response times in ms; each request must succeed."""
        times: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.perf_counter()
            self._connection.request("POST", self._target, self._body, self._headers)
            response = self._connection.getresponse()
            response.read()
            times.append((time.perf_counter() - began) * 1000)
            assert response.status == 200, response.status
            look()
            time.sleep(PAUSE_SECONDS)
        return sorted(times)[len(times) * 99 // 100]


class Memory:
    """Resident memory of one process."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.before = self.most = self._mib()

    def look(self) -> None:
        self.most = max(self.most, self._mib())

    def _mib(self) -> float:
        return float(self._process.memory_info().rss) / 1024**2


def measure() -> BenchmarkResult:
    """Every attack on the collector, then those on the query service."""
    prefix = "tidemark-hostile-"
    with tempfile.TemporaryDirectory(prefix=prefix) as folder, Installation(Path(folder)) as stack:
        figures = [*_collector(stack), *_query(stack)]
    return BenchmarkResult(
        "Strangers",
        f"Each attack for {SECONDS:g} s from a process of its own, while a client with a key sends "
        "one request after the other on one connection; memory is the largest growth of the "
        "service's process.",
        figures,
    )


def _collector(stack: Installation) -> Iterator[Figure]:
    tenant, stranger = Tenant.create(stack), Tenant.create(stack, plan="free")
    target = f"/track?website_id={tenant.website.id}"
    client = Client(stack.collect_url, target, {"name": "a", "anonymousId": "v"}, tenant.key)
    pid = stack.pids()["collector-1"]
    port = stack.settings.collect_port
    yield from _attacked("collector", client, pid, port, stranger.website.id, ON_COLLECTOR)


def _query(stack: Installation) -> Iterator[Figure]:
    tenant = Tenant.create(stack)
    body = {"parameters": ["summary"], "startDate": str(DAY), "endDate": str(DAY)}
    target = f"/v1/query?website_id={tenant.website.id}"
    client = Client(stack.query_url, target, body, tenant.key)
    pid = stack.pids()["query-1"]
    yield from _attacked("query", client, pid, stack.settings.query_port, "none", ON_QUERY)


def _attacked(
    service: str,
    client: Client,
    pid: int,
    port: int,
    website: str,
    attacks: Mapping[str, Attack],
) -> Iterator[Figure]:
    client.p99_ms(1.0, lambda: None)
    with beside((sys.executable, "-c", BUSY)):
        quiet = client.p99_ms(SECONDS, lambda: None)
    for name in attacks:
        memory = Memory(pid)
        module = "tests.bench.attacker"
        attack = (sys.executable, "-m", module, str(port), name, website, str(SECONDS + 1))
        with beside(attack):
            time.sleep(0.5)
            p99 = client.p99_ms(SECONDS, memory.look)
        grown = memory.most - memory.before
        yield Figure(f"{service}, {name}: memory", grown, "MiB", expected="≤ 64")
        yield Figure(f"{service}, {name}: p99", p99, "ms", quiet, ALONE, "ratio ≤ 2")


@contextmanager
def beside(command: tuple[str, ...]) -> Iterator[None]:
    """Run a command for as long as the block."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()
