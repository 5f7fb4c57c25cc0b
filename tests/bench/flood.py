"""Freshness of other tenants while one tenant sends all that its rate limits permit.

The flood comes from two client networks without a key, which use up what a website of the free plan
may receive, and with a key, which has as much again.
"""

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.freshness import delay
from tests.bench.results import BenchmarkResult, Figure
from tests.flow.tenant import Tenant
from tests.installation import Installation

SECONDS = 60
"""A whole window of the limits."""
ALONE = 10
BODIES = 24
REJECTED_SECONDS = 0.25
NETWORKS = ("127.0.1.1", "127.0.2.1")


def _small(number: int) -> object:
    return [{"name": "flood", "anonymousId": f"{number}-{n}"} for n in range(500)]


def _large(number: int) -> object:
    item = {"name": "flood", "properties": {"k": "v" * 60_000}}
    return [{**item, "anonymousId": f"{number}-{n}"} for n in range(16)]


FLOODS: Mapping[str, Callable[[int], object]] = {
    "requests of 500 items": _small,
    "items of 60 KB": _large,
}


def measure() -> BenchmarkResult:
    """The other tenant alone, then beside each flood."""
    with (
        tempfile.TemporaryDirectory(prefix="tidemark-flood-") as folder,
        Installation(Path(folder)) as up,
    ):
        other = Tenant.create(up)
        alone = statistics.median(delay(other, f"alone-{number}") for number in range(ALONE))
        figures = [f for name in FLOODS for f in _beside(name, other, alone)]
    return BenchmarkResult(
        "Flood",
        f"A tenant of the free plan posts for {SECONDS} s as fast as its limits permit, from two "
        "networks without a key and with a key; another tenant sends one event a second.",
        figures,
    )


def _beside(name: str, other: Tenant, alone: float) -> Iterator[Figure]:
    stranger = Tenant.create(other.stack, plan="free")
    until = time.monotonic() + SECONDS
    accepted: list[int] = []
    senders = [
        threading.Thread(target=_flood, args=(stranger, name, source, key, until, accepted))
        for source, key in ((NETWORKS[0], ""), (NETWORKS[1], ""), ("127.0.0.1", stranger.key))
    ]
    delays: list[float] = []
    for sender in senders:
        sender.start()
    watchers: list[threading.Thread] = []
    while time.monotonic() < until:
        event = f"{name}-{len(watchers)}"
        watchers.append(threading.Thread(target=lambda e=event: delays.append(delay(other, e))))
        watchers[-1].start()
        time.sleep(1)
    for thread in (*senders, *watchers):
        thread.join()
    cuts = statistics.quantiles(delays, n=20)
    yield Figure(f"{name}: accepted", sum(accepted), "requests")
    yield Figure(f"{name}: others visible after, median", cuts[9], "s", alone, "alone")
    yield Figure(f"{name}: others visible after, p95", cuts[18], "s", alone, "alone", "≤ 2 s")


def _flood(
    stranger: Tenant, name: str, source: str, key: str, until: float, accepted: list[int]
) -> None:
    address = urlsplit(stranger.stack.collect_url).netloc
    connection = HTTPConnection(address, timeout=20, source_address=(source, 0))
    headers = {"content-type": "application/json", **({"x-api-key": key} if key else {})}
    bodies = [json.dumps(FLOODS[name](hash((source, n)))).encode() for n in range(BODIES)]
    number = 0
    while time.monotonic() < until:
        target = f"/track?website_id={stranger.website.id}"
        connection.request("POST", target, bodies[number % BODIES], headers)
        response = connection.getresponse()
        response.read()
        number += 1
        if response.status == 200:
            accepted.append(1)
        else:
            time.sleep(REJECTED_SECONDS)
