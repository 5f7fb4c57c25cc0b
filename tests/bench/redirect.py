"""CPU time of a short-link redirect beside a plain Starlette endpoint.

Both are called in this process, so that neither sockets nor the load generator are in the figures.
"""

import asyncio
import gc
import logging
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from schemas.errors import Unavailable
from schemas.runtime.settings import Settings
from tests.asgi_client import http_scope
from tests.bench.results import BenchmarkResult, Figure
from tests.ingest.in_memory_collector import NOW, FixedSnapshotSource, in_memory_collector
from tests.ingest.lone_collector import lone_collector

TIMES, ROUNDS = 5_000, 7
TARGET = "https://t.example/a?b=c"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36"
)
HEADERS = {"host": "go.example", "user-agent": CHROME, "accept": "text/html", "referer": TARGET}
PLAIN = "Starlette route, RedirectResponse"
HOW = (
    f"{TIMES:,} requests for /l/spring, {ROUNDS} times in turns, called as ASGI applications in "
    "one process; the median. Ours admits, picks the target and records the click."
)


class DiscardingProducer:
    """Acknowledges, or refuses, at once."""

    def __init__(self, unavailable_reason: str | None) -> None:
        self.unavailable_reason = unavailable_reason
        self.partition_problem: str | None = None

    def enqueue(self, *_request: object) -> PendingDelivery:
        if self.unavailable_reason is not None:
            raise Unavailable(self.unavailable_reason)
        answered: asyncio.Future[DeliveryReport] = asyncio.get_running_loop().create_future()
        answered.set_result(DeliveryReport(DeliveryStatus.ACKNOWLEDGED))
        return PendingDelivery(answered, 0)


def measure() -> BenchmarkResult:
    """With Kafka and without, beside the plain one."""
    with tempfile.TemporaryDirectory() as folder:
        settings, registry = Settings(data_dir=folder), unlimited(Path(folder))
        with_kafka, without = (
            lone_collector(DiscardingProducer(refusing), registry, lambda: NOW, settings)
            for refusing in (None, "away")
        )
        logging.getLogger("ingest.publishing.click_queue").setLevel(
            logging.CRITICAL
        )  # it loses many
        return asyncio.run(_compared(with_kafka, without, plain()))


def unlimited(folder: Path) -> FixedSnapshotSource:
    """The registry of the tests' bench, with more requests than are made."""
    found = in_memory_collector(folder).registry.snapshot
    owners = {o.id: replace(o, limits={"redirects": 10**9}) for o in found.organizations.values()}
    return FixedSnapshotSource(replace(found, organizations=MappingProxyType(owners)))


def plain() -> ASGIApp:
    """A redirect as one would write it first."""
    targets = {"spring": TARGET}

    async def follow(request: Request) -> RedirectResponse:
        return RedirectResponse(targets[request.path_params["slug"]], 302)

    return Starlette(routes=[Route("/l/{slug}", follow)])


async def _compared(with_kafka: ASGIApp, without: ASGIApp, other: ASGIApp) -> BenchmarkResult:
    apps = {"Kafka answers": with_kafka, "Kafka is away": without, PLAIN: other}
    found: dict[str, list[float]] = {name: [] for name in apps}
    gc.disable()
    for _ in range(ROUNDS):
        for name, app in apps.items():
            found[name].append(await _cpu(app))
    gc.enable()
    against = statistics.median(found.pop(PLAIN))
    figures = [
        Figure(f"{name}: CPU", statistics.median(each), "µs", against, PLAIN, "ratio ≤ 2")
        for name, each in found.items()
    ]
    return BenchmarkResult("Redirect", HOW, figures)


async def _cpu(app: Callable[[Any, Any, Any], Awaitable[None]]) -> float:
    """Microseconds of CPU of one request, what makes it a request left out."""
    scopes = [http_scope("GET", "/l/spring", HEADERS) for _ in range(TIMES)]
    statuses = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if "status" in message:
            statuses.append(message["status"])

    began = time.process_time()
    for scope in scopes:
        await app(scope, receive, send)
    spent = time.process_time() - began
    assert statuses == [302] * TIMES
    return spent * 1e6 / TIMES


if __name__ == "__main__":
    print(measure().text())
