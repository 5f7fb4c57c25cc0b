"""Freshness: time from the acknowledgement of an event to the first result that counts it."""

import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench.results import BenchmarkResult, Figure
from tests.chaos.recorded_load import LoadSender
from tests.flow.tenant import Tenant
from tests.installation import Installation

SAMPLES = 200
WATCHERS = 3
PAUSE_SECONDS = 0.01


def measure() -> BenchmarkResult:
    """The delay while a load of small batches goes to another website."""
    with tempfile.TemporaryDirectory() as folder, Installation(Path(folder)) as stack:
        watched, loaded = Tenant.create(stack), Tenant.create(stack)
        with (
            LoadSender(stack.collect_url, loaded.website.id) as load,
            ThreadPoolExecutor(WATCHERS) as pool,
        ):
            load.wait_for(300)
            began, before = time.monotonic(), len(load.acknowledged)
            delays = list(pool.map(lambda n: delay(watched, n), range(SAMPLES)))
            rate = (len(load.acknowledged) - before) / (time.monotonic() - began)
    cuts = statistics.quantiles(delays, n=100)
    return BenchmarkResult(
        "Freshness",
        f"{SAMPLES} events, each asked for until it is counted, beside {rate:,.0f} events/s "
        "of another website; default settings.",
        (
            Figure("visible after, median", cuts[49], "s"),
            Figure("visible after, p99", cuts[98], "s", expected="≤ 3"),
        ),
    )


def delay(tenant: Tenant, number: int) -> float:
    """Seconds from the acknowledgement of one event until a query counts it."""
    name = f"fresh-{number}"
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
