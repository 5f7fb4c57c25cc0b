"""Erasure of many visitors: latency of queries and of storing, before and during the rewrite.

`python -m tests.bench.erasure [EVENTS]` measures over so many events of the website.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle
from pathlib import Path
from threading import Event

import duckdb
import psutil
from msgspec import Struct

from schemas.registry import Erasure, ErasureState, RegistryStore, Selector
from schemas.registry.validation import new_erasure
from schemas.runtime.clock import now_ms
from schemas.tables import EVENTS
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.bench.dataset import DataSet, make
from tests.bench.freshness import delay
from tests.bench.one_by_one import post, unlimited_website, visits
from tests.bench.query_service import RunningService, standard
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.traffic_sql import MINE, OWNER
from tests.bench.worker import cpu
from tests.flow.tenant import Tenant
from tests.installation import Installation, eventually

EVENTS_MADE = 3_000_000
VISITORS = 1_000
TYPES = ("summary", "events_by_date", "top_pages", "country", "channels", "entry_pages")
RATE = 500
"""Events a second of another website, a request each."""
BEFORE_SECONDS = 60.0
QUIET_SECONDS = 5.0
MAX_SECONDS = 1_800.0
BEFORE = "before the erasure"


class Observed(Struct):
    """What was waited for, in ms."""

    queries: list[float]
    delays: list[float]
    """From the acknowledgement of an event to the first result that counts it."""
    seconds: float


def measure(events: int = EVENTS_MADE) -> BenchmarkResult:
    """Over a fresh data set: an erasure is for good."""
    with tempfile.TemporaryDirectory(prefix="tidemark-erasure-") as folder:
        return measured(Path(folder), events)


def measured(folder: Path, events: int) -> BenchmarkResult:
    """Erase 1,000 visitors of one website, and look on."""
    data_set = make(folder, events, 0, tables=[EVENTS])
    visitors = some_visitors(data_set)
    with Installation(folder) as stack:
        bodies = folder / "bodies"
        bodies.write_bytes(b"\n".join(visits()))
        keeper = psutil.Process(stack.pids()["keeper"])
        eventually(lambda: is_quiet(keeper), MAX_SECONDS, pause=0)
        before = observe(stack, data_set, bodies, lambda: time.sleep(BEFORE_SECONDS))
        files, spent = old_files(data_set), cpu(keeper)
        during = observe(stack, data_set, bodies, lambda: erase(data_set, visitors))
        spent = cpu(keeper) - spent
        with closing(RegistryStore(data_set.settings.registry_url)) as store:
            [erasure] = store.list(Erasure)
        replaced = len(files - old_files(data_set))
    return BenchmarkResult(
        "Erasure",
        f"{events:,} events of one website in 30 days; {VISITORS:,} of its visitors are erased, "
        f"{erasure.report['rows']['events']:,} rows. Before and meanwhile: one client that queries "
        f"the website ({len(before.queries)} and {len(during.queries)} queries of {len(TYPES)} "
        f"types), single events of another one, each queried until it is counted "
        f"({len(before.delays)} and {len(during.delays)}), and {RATE} events/s of a third; all on "
        "these cores, default settings.",
        list(figures(before, during, erasure, replaced, spent)),
    )


def figures(
    before: Observed, during: Observed, erasure: Erasure, replaced: int, spent: float
) -> Iterator[Figure]:
    """Latencies of both phases, and what the rewrite cost."""
    for name, early, late in (
        ("query", before.queries, during.queries),
        ("stored after", before.delays, during.delays),
    ):
        for cut, index in (("median", 49), ("p99", 98)):
            value, base = (statistics.quantiles(each, n=100)[index] for each in (late, early))
            limit = "ratio ≤ 2" if cut == "p99" else ""
            yield Figure(f"{name}, {cut}", value, "ms", base, BEFORE, limit)
    rewrites = erasure.report["files"]
    yield Figure("rewrites of data files", rewrites, "", replaced, "files replaced", "ratio ≤ 1")
    yield Figure("until rewritten", during.seconds, "s")
    yield Figure("keeper: CPU", spent, "s")


def some_visitors(data_set: DataSet) -> list[str]:
    """1,000 visitors of the website, of all days."""
    with closing(duckdb.connect()) as connection:
        rows = connection.execute(
            """
            SELECT DISTINCT anonymous_id FROM read_parquet(?)
             ORDER BY md5(anonymous_id) LIMIT ?
            """,
            [data_set.plain("events"), VISITORS],
        ).fetchall()
    return [visitor for (visitor,) in rows]


def old_files(data_set: DataSet) -> set[str]:
    """Data files with days of the data set."""
    live = live_data_files(LakeTable(data_set.settings, EVENTS).handle, EVENTS)
    return {file.path for file in live if str(file.day) <= str(data_set.last)}


def is_quiet(keeper: psutil.Process) -> bool:
    """Whether the keeper has done all that is due: derived tables, for instance."""
    spent = cpu(keeper)
    time.sleep(QUIET_SECONDS)
    return cpu(keeper) - spent < 0.1 * QUIET_SECONDS


def erase(data_set: DataSet, visitors: list[str]) -> None:
    """Erase the visitors, and wait until no table has their rows."""
    with closing(RegistryStore(data_set.settings.registry_url)) as store:
        key = store.tombstone_key()
        erasure = store.create(
            new_erasure(OWNER, Selector.VISITOR, visitors, now_ms(), key, website_id=MINE)
        )
        eventually(
            lambda: store.get(Erasure, erasure.id).state is not ErasureState.PENDING, MAX_SECONDS
        )


def observe(
    stack: Installation, data_set: DataSet, bodies: Path, work: Callable[[], None]
) -> Observed:
    """Query and send while the work lasts."""
    watched, loaded = Tenant.create(stack), unlimited_website(stack.settings)
    ours = RunningService(stack.query_url, data_set.key, stack.pids()["query-1"])
    over = Event()

    def load() -> None:
        while not over.is_set():
            post(stack, loaded, bodies, 2.0, RATE)

    def query() -> list[float]:
        times: list[float] = []
        names = cycle(TYPES)
        while not over.is_set():
            times.append(ours.ask(standard(next(names), "website_id", {}, data_set.span())).ms)
        return times

    def send() -> list[float]:
        delays: list[float] = []
        while not over.is_set():
            delays.append(1000 * delay(watched, f"erasure-{len(delays)}"))
        return delays

    began = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        loading, asking, sending = pool.submit(load), pool.submit(query), pool.submit(send)
        try:
            work()
        finally:
            over.set()
            seconds = time.monotonic() - began
    loading.result()
    return Observed(asking.result(), sending.result(), seconds)


if __name__ == "__main__":
    print(measure(*map(int, sys.argv[1:2])).text())
