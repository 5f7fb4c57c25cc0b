"""Every question over a month of 10 million events among 20 million of others.

Each standard type is asked over the month and over its last day, of the service as a real process;
the month also of plain DuckDB, with the same SQL over one file. They take turns, and the middle
time is told, with what the process ever had of memory.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from query.standard.declaration.query_type import QueryType
from query.standard.query_types import QUERY_TYPES
from tests.bench.dataset import MANY, DataSet, make
from tests.bench.query_service import (
    BenchmarkQuery,
    PlainDuckDB,
    RunningService,
    custom,
    plain_duckdb,
    service,
    standard,
)
from tests.bench.results import BenchmarkResult, Figure

TURNS = 3
SLOWEST = 10
"""Types of which the time for one day is told."""
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
    refused: bool
    """Whether it took too long or too much memory."""
    same: bool
    """Whether both said the same."""


def measure(folder: Path | None = None, events: int = MANY) -> BenchmarkResult:
    """All questions; the data set stays where a folder is named."""
    if folder is not None:
        return over(make(folder, events))
    with tempfile.TemporaryDirectory(prefix="tidemark-scale-") as temporary:
        return over(make(Path(temporary), events))


def over(made: DataSet) -> BenchmarkResult:
    """All questions about a set that is there."""
    with service(made) as ours, plain_duckdb(made) as beside:
        month = [timed(q, ours, beside) for q in types(made.span())]
        day = [timed(q, ours, beside) for q in types(made.span(1))]
        free = [timed(custom(name, q, made.span()), ours, beside) for name, q in CUSTOM.items()]
        peak = ours.peak_mib
    return BenchmarkResult(
        f"Scale, {made.events:,} events",
        "Events of one website in 30 days among others (twice as many, unless told), stored "
        f"by the worker's writer and compacted; {len(month)} standard types over HTTP, middle of "
        f"{TURNS}; the baseline's time is that inside DuckDB alone.",
        [*summed(month, day), *(one(each, "< 1,000") for each in free),
         Figure("peak memory of the query process", peak, "MiB", expected="≤ 1,024"),
         *(one(each, "< 3,000") for each in sorted(month, key=lambda t: -t.ms)),
         *(one(each, "< 100", ", one day") for each in sorted(day, key=lambda t: -t.ms)[:SLOWEST])],
    )  # fmt: skip


def types(span: dict[str, str]) -> Iterator[BenchmarkQuery]:
    """Every type that can be asked without a filter, with the options of its example."""
    for query_type in {t.name: t for t in QUERY_TYPES.values()}.values():
        if not query_type.required_filters:
            yield standard(query_type.name, query_type.subject, options(query_type), span)


def options(query_type: QueryType) -> dict[str, object]:
    """What a parameter says beside its name."""
    example = query_type.example
    return {} if example is None else dict(msgspec.to_builtins(example))


def timed(question: BenchmarkQuery, ours: RunningService, beside: PlainDuckDB) -> Timed:
    """Both in turns, and whether they say the same."""
    answers, others = [], []
    for _ in range(TURNS):
        answer, other = ours.ask(question), beside.ask(question)
        answers.append(answer)
        others.append(other)
        if answer.data is None:  # it will not be better the next time
            break
    refused, same = answer.data is None, answer.data == other.data
    each = Timed(
        name=question.name,
        ms=statistics.median(a.ms for a in answers),
        plain_ms=statistics.median(a.ms for a in others),
        cpu_ms=statistics.median(a.cpu_ms for a in answers),
        plain_cpu_ms=statistics.median(a.cpu_ms for a in others),
        refused=refused,
        same=refused or same,
    )
    print(f"  {each.name}: {each.ms:.0f} ms, plain {each.plain_ms:.0f} ms", flush=True)
    return each


def summed(month: Sequence[Timed], day: Sequence[Timed]) -> Iterator[Figure]:
    """The figures that are held against a target."""
    slow = [each.ms for each in month]
    ratios = [each.ms / each.plain_ms for each in month]
    yield Figure("month: slowest type", max(slow), "ms", expected="< 3,000")
    yield Figure("month: median type", statistics.median(slow), "ms", expected="< 500")
    yield Figure("types refused", sum(t.refused for t in month), "", expected="0")
    yield Figure("types that differ", sum(not t.same for t in [*month, *day]), "", expected="0")
    yield Figure("month: types of 3 s and more", sum(ms >= 3000 for ms in slow), "", expected="0")
    yield Figure(
        "month: all types together", sum(slow), "ms", sum(t.plain_ms for t in month), PLAIN,
        "ratio ≤ 1.3",
    )  # fmt: skip
    yield Figure(
        "month: CPU of all types together", sum(t.cpu_ms for t in month), "ms",
        sum(t.plain_cpu_ms for t in month), PLAIN, "ratio ≤ 1.3",
    )  # fmt: skip
    yield Figure("month: median CPU of a type", statistics.median(t.cpu_ms for t in month), "ms",
                 statistics.median(t.plain_cpu_ms for t in month), PLAIN)  # fmt: skip
    yield Figure("month: median ratio", statistics.median(ratios), "", expected="≤ 1.3")
    yield Figure("day: slowest type", max(t.ms for t in day), "ms", expected="< 100")
    yield Figure("day: median type", statistics.median(t.ms for t in day), "ms", expected="< 100")


def one(each: Timed, expected: str, beside: str = "") -> Figure:
    """One question as a figure."""
    return Figure(f"{each.name}{beside}", each.ms, "ms", each.plain_ms, PLAIN, expected)
