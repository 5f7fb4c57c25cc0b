"""Freshness: time from the acknowledgement of an event to the first result that counts it."""

import statistics
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path

from tests.bench.one_by_one import post, unlimited_website, visits
from tests.bench.results import BenchmarkResult, Figure
from tests.flow.tenant import Tenant
from tests.installation import Installation

RATE = 5_000
"""Events a second of the other website, a request each."""
WARM_SECONDS, SECONDS = 10.0, 60.0
WATCHERS = 2
PAUSE_SECONDS = 0.02


def measure() -> BenchmarkResult:
    """The delay while single events of another website arrive at a fixed rate."""
    with tempfile.TemporaryDirectory() as folder, Installation(Path(folder)) as stack:
        bodies = Path(folder) / "bodies"
        bodies.write_bytes(b"\n".join(visits()))
        watched, loaded = Tenant.create(stack), unlimited_website(stack.settings)
        with ThreadPoolExecutor(1 + WATCHERS) as pool:
            load = pool.submit(post, stack, loaded, bodies, WARM_SECONDS + SECONDS, RATE)
            time.sleep(WARM_SECONDS)
            watchers = [pool.submit(watch, watched, n, load) for n in range(WATCHERS)]
            delays = [delay for watcher in watchers for delay in watcher.result()]
            answered = load.result()
    cuts = statistics.quantiles(delays, n=100)
    rate = answered["requests"] / answered["seconds"]
    return BenchmarkResult(
        "Freshness",
        f"{len(delays)} events, each queried until it is counted, beside {rate:,.0f} events/s "
        "of another website that arrive one by one; default settings.",
        (
            Figure("visible after, median", cuts[49], "s"),
            Figure("visible after, p99", cuts[98], "s", expected="≤ 1"),
        ),
    )


def watch(tenant: Tenant, watcher: int, load: Future[Mapping[str, float]]) -> list[float]:
    """Delays of one event after the other while the load lasts, seconds."""
    delays = []
    for number in count():
        if load.done():
            break
        delays.append(delay(tenant, f"fresh-{watcher}-{number}"))
    return delays


def delay(tenant: Tenant, name: str) -> float:
    """Seconds from the acknowledgement of one event until a query counts it."""
    query = {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
        "filters": [{"field": "name", "operator": "eq", "value": name}],
    }
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert tenant.send({"name": name, "anonymousId": name}).status == 200
    acknowledged = time.monotonic()
    while tenant.custom(query, startDate=today, endDate=today).json["data"] != [{"n": 1}]:
        time.sleep(PAUSE_SECONDS)
    return time.monotonic() - acknowledged
