"""Isolation: latency of standard queries beside heavy custom queries."""

import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from tests.bench.dataset import DataSet, make
from tests.bench.query_service import BenchmarkQuery, RunningService, custom, service, standard
from tests.bench.results import BenchmarkResult, Figure

EVENTS = 1_000_000
TURNS = 9
CROWD = 3
"""Clients that ask one heavy query after the other: more than run at once."""
ASKED = ("summary", "pages", "traffic", "events_by_date")

HEAVY = {
    "table": "sessions",
    "selects": [
        {"field": "*", "aggregate": "count", "alias": "n"},
        {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"},
        {"field": "duration", "aggregate": "p95", "alias": "long"},
    ],
    "groupBy": ["entry_path", "exit_path", "country"],
}


def measure() -> BenchmarkResult:
    """Each question alone, then beside the crowd."""
    with tempfile.TemporaryDirectory(prefix="tidemark-isolation-") as folder:
        data_set = make(Path(folder), EVENTS, EVENTS)
        queries = [standard(name, "website_id", {}, data_set.span()) for name in ASKED]
        with service(data_set) as ours:
            alone = [middle(ours, query) for query in queries]
            with post_traffic(ours, data_set) as answered:
                beside = [middle(ours, query) for query in queries]
            count = len(answered)
    figures = [
        Figure(f"{query.name} beside custom", late, "ms", early, "the same alone", "ratio ≤ 2")
        for query, early, late in zip(queries, alone, beside, strict=True)
    ]
    return BenchmarkResult(
        "Isolation",
        f"{EVENTS:,} events of one website among as many of others; {CROWD} clients run custom "
        f"queries over all sessions in a loop ({count} finished); over HTTP, median of "
        f"{TURNS}, default settings.",
        figures,
    )


def middle(ours: RunningService, query: BenchmarkQuery) -> float:
    """The median time of one query after a first run."""
    ours.ask(query)
    return statistics.median(ours.ask(query).ms for _ in range(TURNS))


@contextmanager
def post_traffic(ours: RunningService, data_set: DataSet) -> Iterator[list[float]]:
    """Run heavy queries in the background; the response times of the completed ones, in ms."""
    over, answered = Event(), list[float]()
    heavy = custom("heavy", HEAVY, data_set.span())

    def ask() -> None:
        while not over.is_set():
            answered.append(ours.ask(heavy).ms)

    with ThreadPoolExecutor(CROWD) as pool:
        asking = [pool.submit(ask) for _ in range(CROWD)]
        try:
            yield answered
        finally:
            over.set()
    for each in asking:
        each.result()
