"""Scale: every query type over a month of 10 million events among 20 million others.

Each standard type runs over some weeks and over single days: in the service as a real process with
its prepared results, and then in plain DuckDB, with the same SQL over one file. No time range was
queried before. The result is the median time, and the peak memory of the process.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from query.prepared import FOLDER
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import QUERY_TYPES
from tests.bench.dataset import MANY, DataSet, make
from tests.bench.prepared_results import OTHER_DAYS, PREPARED_MB, is_done
from tests.bench.query_service import (
    BenchmarkQuery,
    PlainDuckDB,
    QueryTiming,
    RunningService,
    custom,
    plain_duckdb,
    service,
    standard,
)
from tests.bench.results import BenchmarkResult, Figure
from tests.installation import eventually

TURNS = len(OTHER_DAYS)
SLOWEST = 10
"""Types whose time for one day is shown."""
PLAIN = "plain DuckDB, one file, same SQL"

CUSTOM = {
    "custom: events by country": {
        "table": "events",
        "selects": [
            {"field": "*", "aggregate": "count", "alias": "n"},
            {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"},
        ],
        "groupBy": ["country"],
    },
    "custom: events by path and device, one name": {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
        "filters": [{"field": "name", "operator": "eq", "value": "screen_view"}],
        "groupBy": ["path", "device_type"],
    },
}


class Timed(Struct, frozen=True):
    """Middle times of one question, in milliseconds."""

    name: str
    ms: float
    plain_ms: float
    cpu_ms: float
    plain_cpu_ms: float
    again_ms: float
    """Time of the service for the second query."""
    refused: bool
    """Whether it took too long or too much memory."""
    same: bool
    """Whether both results are equal."""


def measure(folder: Path | None = None, events: int = MANY) -> BenchmarkResult:
    """All queries; with a folder, the data set is kept there."""
    if folder is not None:
        return over(make(folder, events))
    with tempfile.TemporaryDirectory(prefix="tidemark-scale-") as temporary:
        return over(make(Path(temporary), events))


def over(data_set: DataSet) -> BenchmarkResult:
    """All queries over an existing data set."""
    weeks = [data_set.span(days) for days in OTHER_DAYS]
    days = [data_set.day(back) for back in range(TURNS)]
    with service(data_set, PREPARED_MB) as ours, plain_duckdb(data_set) as plain:
        prepare(ours, data_set)
        month = [timed(queries, ours, plain) for queries in types(weeks)]
        day = [timed(queries, ours, plain) for queries in types(days)]
        free = [
            timed([custom(name, query, span) for span in weeks], ours, plain)
            for name, query in CUSTOM.items()
        ]
        peak = ours.peak_mib
    return BenchmarkResult(
        f"Scale, {data_set.events:,} events",
        "Events of one website in 30 days among others (twice as many, unless stated), stored "
        f"by the worker's writer and compacted; {len(month)} types over HTTP with prepared "
        f"results, median of {TURNS} ranges of some {OTHER_DAYS[0]} days, or of single days, each "
        "queried for the first time, one after the other; the baseline's time is inside DuckDB "
        "only.",
        [*summed(month, day), *(query_figure(timing, "< 1,000") for timing in free),
         Figure("peak memory of the query process", peak, "MiB", expected="≤ 1,024"),
         *(query_figure(timing, "< 3,000") for timing in slowest_first(month)),
         *(query_figure(timing, "< 100", ", one day") for timing in slowest_first(day)[:SLOWEST])],
    )  # fmt: skip


def prepare(ours: RunningService, data_set: DataSet) -> None:
    """Have parts and indexes made, as the queries of a day before would."""
    folder = Path(data_set.folder, FOLDER)
    for _ in range(2):
        for [query] in types([data_set.span()]):
            ours.ask(query)
        eventually(lambda: is_done(folder), 900)


def types(spans: Sequence[dict[str, str]]) -> Iterator[Sequence[BenchmarkQuery]]:
    """Every type that needs no filter, with the options of its example, over each time range."""
    for each in {t.name: t for t in QUERY_TYPES.values()}.values():
        if not each.required_filters:
            yield [standard(each.name, each.subject, options(each), span) for span in spans]


def options(query_type: QueryType) -> dict[str, object]:
    """The options of a type's example."""
    example = query_type.example
    return {} if example is None else dict(msgspec.to_builtins(example))


def timed(queries: Sequence[BenchmarkQuery], ours: RunningService, plain: PlainDuckDB) -> Timed:
    """The service, then plain DuckDB, and whether their results are equal.

    Each is asked for all time ranges in a row, so that neither finds the memory of the processor
    full of the other's rows.
    """
    timings: list[QueryTiming] = []
    for query in queries:
        timings.append(ours.ask(query))
        if timings[-1].data is None:  # the next one would fail as well
            break
    plain_timings = [plain.ask(query) for query in queries[: len(timings)]]
    same = all(a.data == b.data for a, b in zip(timings, plain_timings, strict=True))
    refused = timings[-1].data is None
    timing = Timed(
        name=queries[0].name,
        ms=statistics.median(timing.ms for timing in timings),
        plain_ms=statistics.median(timing.ms for timing in plain_timings),
        cpu_ms=statistics.median(timing.cpu_ms for timing in timings),
        plain_cpu_ms=statistics.median(timing.cpu_ms for timing in plain_timings),
        again_ms=statistics.median(ours.ask(query).ms for query in queries[: len(timings)]),
        refused=refused,
        same=refused or same,
    )
    print(f"  {timing.name}: {timing.ms:.0f} ms, plain {timing.plain_ms:.0f} ms", flush=True)
    return timing


def summed(month: Sequence[Timed], day: Sequence[Timed]) -> Iterator[Figure]:
    """The figures that have a target."""
    slow = [timing.ms for timing in month]
    ratios = [timing.ms / timing.plain_ms for timing in month]
    yield Figure("month: slowest type", max(slow), "ms", expected="< 3,000")
    yield Figure("month: median type", statistics.median(slow), "ms", expected="≤ 40")
    again = statistics.median(timing.again_ms for timing in month)
    yield Figure("month: median type, asked again", again, "ms", expected="≤ 40")
    yield Figure("types refused", sum(t.refused for t in month), "", expected="0")
    yield Figure("types that differ", sum(not t.same for t in [*month, *day]), "", expected="0")
    yield Figure("month: types of 3 s and more", sum(ms >= 3000 for ms in slow), "", expected="0")
    yield Figure(
        "month: all types together", sum(slow), "ms", sum(t.plain_ms for t in month), PLAIN,
        "ratio ≤ 0.4",
    )  # fmt: skip
    yield Figure(
        "month: CPU of all types together", sum(t.cpu_ms for t in month), "ms",
        sum(t.plain_cpu_ms for t in month), PLAIN, "ratio ≤ 0.4",
    )  # fmt: skip
    yield Figure("month: median CPU of a type", statistics.median(t.cpu_ms for t in month), "ms",
                 statistics.median(t.plain_cpu_ms for t in month), PLAIN)  # fmt: skip
    yield Figure("month: median ratio", statistics.median(ratios), "", expected="≤ 0.4")
    yield Figure("day: slowest type", max(t.ms for t in day), "ms", expected="< 100")
    yield Figure("day: median type", statistics.median(t.ms for t in day), "ms", expected="≤ 8")
    again = statistics.median(timing.again_ms for timing in day)
    yield Figure("day: median type, asked again", again, "ms", expected="≤ 8")


def slowest_first(timings: Sequence[Timed]) -> list[Timed]:
    return sorted(timings, key=lambda timing: -timing.ms)


def query_figure(timing: Timed, expected: str, suffix: str = "") -> Figure:
    """The latency of one query beside plain DuckDB."""
    return Figure(f"{timing.name}{suffix}", timing.ms, "ms", timing.plain_ms, PLAIN, expected)
