"""CPU of queries with facts of the visit and of the visitor, beside the same without them."""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from msgspec import structs

from schemas.kinds import DERIVED_TABLES
from schemas.tables import EVENTS
from stream.maintenance.derivation import Derivation
from stream.storage.delta_commit import LakeTable
from tests.bench.dataset import DAYS, DataSet, make
from tests.bench.query_service import BenchmarkQuery, RunningService, service, standard
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.traffic_sql import MINE

EVENTS_MADE = 1_000_000
TURNS = 9
METRICS = "/v1/query/metrics"

Pair = tuple[BenchmarkQuery, BenchmarkQuery]
"""A query without and one with a fact."""


def measure() -> BenchmarkResult:
    """The cost of facts of visits and of visitors."""
    with tempfile.TemporaryDirectory(prefix="tidemark-facts-") as folder:
        data_set = make(Path(folder), EVENTS_MADE, EVENTS_MADE)
        prepare(data_set)
        with service(data_set) as ours:
            figures = [
                *(compared(ours, pair, "ratio ≤ 1.3") for pair in of_visits(data_set)),
                *(compared(ours, pair) for pair in of_visitors(data_set)),
            ]
    how = (
        f"{EVENTS_MADE:,} events of one website in 30 days among as many of others, facts of visits"
        f" and visitors prepared; CPU of the service over HTTP, median of {TURNS}."
    )
    return BenchmarkResult("Facts of visits", how, figures)


def compared(ours: RunningService, pair: Pair, expected: str = "") -> Figure:
    """A pair in turns, so that both queries meet the same load of the machine."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(TURNS + 1):
        for query, times in zip(pair, spent, strict=True):
            times.append(ours.ask(query).cpu_ms)
    base, own = (statistics.median(each[1:]) for each in spent)
    return Figure(pair[1].name, own, "ms CPU", base, pair[0].name, expected)


def prepare(data_set: DataSet) -> None:
    """Run the keeper's task until every data file has its facts: a cycle computes a portion."""
    events = LakeTable(data_set.settings, EVENTS)
    tables = [LakeTable(data_set.settings, each.table) for each in DERIVED_TABLES]
    derivation = Derivation()
    while any(len(t.handle.file_uris()) < len(events.handle.file_uris()) for t in tables):
        derivation(events, data_set.settings)
        for table in tables:
            table.refresh()


def of_visits(data_set: DataSet) -> list[Pair]:
    """Queries without and with a fact of the visit."""
    filters = {
        "channel": {"field": "visit.channel", "operator": "eq", "value": "Organic Search"},
        "exit page": {"field": "visit.exit_page", "operator": "eq", "value": "/"},
    }
    filtered = [
        (
            standard(name, "website_id", {}, data_set.span()),
            named(
                f"{name}, filter on {fact}",
                "/v1/query",
                {"parameters": [name], "filters": [condition]},
                data_set,
            ),
        )
        for name in ("summary", "top_pages")
        for fact, condition in filters.items()
    ]
    grouped = [
        (
            metrics(f"{', '.join(asked)} by {column}", asked, column, data_set),
            metrics(f"{', '.join(asked)} by {fact}", asked, fact, data_set),
        )
        for asked, column, fact in (
            (["visitors", "page_views"], "path", "visit.entry_page"),
            (["visitors", "page_views"], "browser_name", "visit.channel"),
            (["visits", "bounce_rate"], "browser_name", "visit.channel"),
            (["entries", "exits"], "path", "visit.entry_page"),
        )
    ]
    return [*filtered, *grouped]


def of_visitors(data_set: DataSet) -> list[Pair]:
    """Queries without and with when visitors were first and last seen."""
    visitors, browser, seen = ["visitors"], "browser_name", "visitor.first_seen"
    new = ["new_visitors", "returning_visitors"]
    plain = metrics(f"visitors by {browser}", visitors, browser, data_set)
    views = {"metrics": ["page_views"]}
    old = {"field": seen, "operator": "lt", "value": "2026-10-10T00:00:00Z"}
    pairs = [
        (plain, metrics(f"new and returning visitors by {browser}", new, browser, data_set)),
        (plain, metrics(f"visitors by {seen}:week", visitors, f"{seen}:week", data_set)),
        (
            named("page_views", METRICS, views, data_set),
            named(f"page_views, filter on {seen}", METRICS, {**views, "filters": [old]}, data_set),
        ),
    ]
    return [(in_second_half(a, data_set), in_second_half(b, data_set)) for a, b in pairs]


def in_second_half(query: BenchmarkQuery, data_set: DataSet) -> BenchmarkQuery:
    """The query about the second half of the time, before which there is as much again."""
    days = DAYS // 2
    body = {**query.body, **data_set.span(days)}
    return structs.replace(query, name=f"{query.name}, {days} days", body=body)


def metrics(name: str, asked: list[str], dimension: str, data_set: DataSet) -> BenchmarkQuery:
    """A metrics query by one dimension."""
    return named(name, METRICS, {"metrics": asked, "dimensions": [dimension]}, data_set)


def named(name: str, path: str, body: dict[str, Any], data_set: DataSet) -> BenchmarkQuery:
    """A request about the website in the whole time."""
    return BenchmarkQuery(name, path, f"website_id={MINE}", {**body, **data_set.span()})
