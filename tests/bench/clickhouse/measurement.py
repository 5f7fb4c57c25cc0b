"""One data set: each question to the query service, to plain DuckDB and to ClickHouse, in turns."""

import os
import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

import msgspec
import psutil
from msgspec import Struct, structs

from query.prepared import FOLDER
from query.prepared.forms import of_filters
from query.request.filter_struct import Filter
from query.standard.query_types import QUERY_TYPES
from schemas.tables import EVENTS
from tests.bench.clickhouse.comparison import first_difference
from tests.bench.clickhouse.one_website import LakeFiles
from tests.bench.clickhouse.server import (
    ClickHouse,
    ClickHouseResult,
    LoadCost,
    clickhouse,
    load,
)
from tests.bench.clickhouse.statements import Question, questions
from tests.bench.dataset import DAYS, MANY
from tests.bench.prepared_results import OTHER_DAYS, PREPARED_MB, QUIET_SECONDS, by_rows, parts
from tests.bench.query_service import (
    BenchmarkQuery,
    PlainDuckDB,
    QueryTiming,
    RunningService,
    plain_duckdb,
    service,
    standard,
)
from tests.bench.worker import cpu
from tests.installation import eventually

REPEATED = 7
"""Turns of an answer that is in memory."""
MAKING_SECONDS = 600


class AnswersDiffer(Exception):
    """Two engines answered the same question differently."""


class Cost(Struct, frozen=True):
    """Middle time and middle CPU of all threads, in milliseconds."""

    ms: float
    cpu_ms: float


class QuestionCosts(Struct, frozen=True):
    """Cost of one query by engine."""

    name: str
    repeated: Cost | None
    """From prepared results, asked before; None when the type has none."""
    other: Cost | None
    """From prepared results, of time ranges not asked before."""
    stored: Cost | None
    """None when it took too long or too much memory."""
    plain: Cost
    clickhouse: Cost


class Measurement(Struct, frozen=True):
    """All figures of a data set."""

    events: int
    load_average: float
    questions: Sequence[QuestionCosts]
    bytes_on_disk: float
    """Bytes of the lake per event."""
    parts_cpu_us: float
    """Making prepared results, per event."""
    parts_bytes: float
    first_ms: float
    """First answer after a restart of the service: the summary, from parts on disk."""
    loaded: LoadCost
    peak_mib: float
    clickhouse_peak_mib: float


def measured(data_set: LakeFiles) -> Measurement:
    """Raises AnswersDiffer at the first difference."""
    print(f"  {data_set.events:,} events: making prepared results", flush=True)
    parts_cpu, parts_bytes = made_parts(data_set)
    print("  loading ClickHouse", flush=True)
    summary = standard("summary", "website_id", {}, data_set.span())
    with (
        service(data_set, PREPARED_MB) as ours,
        plain_duckdb(data_set) as plain,
        loaded(data_set) as (other, cost),
    ):
        first = ours.ask(summary)
        asking = questions(data_set.span())
        costs = [ask_all(each, data_set, ours, plain, other) for each in asking]
        return Measurement(
            events=data_set.events,
            load_average=os.getloadavg()[1],
            questions=costs,
            bytes_on_disk=size_of(data_files(data_set)) / data_set.events,
            parts_cpu_us=parts_cpu,
            parts_bytes=parts_bytes,
            first_ms=first.ms,
            loaded=cost,
            peak_mib=ours.peak_mib,
            clickhouse_peak_mib=other.execute("SELECT 1").peak_kib / 1024,
        )


@contextmanager
def loaded(data_set: LakeFiles) -> Iterator[tuple[ClickHouse, LoadCost]]:
    """ClickHouse over a table with the rows of the set."""
    with TemporaryDirectory(prefix="tidemark-clickhouse-", dir=data_set.folder) as folder:
        with clickhouse(Path(folder)) as running:
            running_cost = load(running, data_set)
        with clickhouse(Path(folder)) as running:  # without the memory that loading took
            yield running, running_cost


def made_parts(data_set: LakeFiles) -> tuple[float, float]:
    """Rebuild all parts: µs of CPU and bytes per event."""
    folder = Path(data_set.folder, FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    files = len(data_files(data_set))
    # rows of the first day happened a day earlier as well
    query = standard("summary", "website_id", {}, data_set.span(DAYS + 1))
    with service(data_set, PREPARED_MB) as making:
        process = psutil.Process(making.pid)
        by_stored_rows = making.ask(by_rows(query)).cpu_ms / 1000
        before = cpu(process)
        making.ask(query)
        eventually(lambda: len(parts(folder)) == files, MAKING_SECONDS)
        spent = cpu(process) - before - by_stored_rows
        eventually(lambda: has_all_indexes(folder), MAKING_SECONDS)
    return spent / data_set.events * 1e6, size_of(parts(folder)) / data_set.events


def has_all_indexes(folder: Path) -> bool:
    """Whether there are indexes, and no new one within some seconds."""
    before = list(folder.rglob("*.index"))
    sleep(QUIET_SECONDS)
    return 0 < len(before) == len(list(folder.rglob("*.index")))


def data_files(data_set: LakeFiles) -> list[Path]:
    """The Parquet files of the table."""
    return list(Path(data_set.folder, "lake", EVENTS.name).glob("day=*/*.parquet"))


def size_of(files: Sequence[Path]) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in files)


def ask_all(
    question: Question,
    data_set: LakeFiles,
    ours: RunningService,
    plain: PlainDuckDB,
    other: ClickHouse,
) -> QuestionCosts:
    """One question to all, whose answers are compared."""
    name = question.name
    query = question.request(data_set.span())
    by_stored = by_rows(query)
    plainly = plain.ask(query)
    stored, others = [], []
    for _ in range(turns(data_set.events)):
        stored.append(ours.ask(by_stored))
        others.append(other.execute(question.sql))
    repeated = other_ranges = None
    answer = stored[0].data
    if is_prepared(question):
        repeated, other_ranges, prepared = from_parts(ours, query, data_set)
        answer = check(name, "prepared results", answer, prepared)
    answer = check(name, "plain DuckDB", answer, plainly.data)
    if answer is not None and (found := first_difference(answer, others[0].records)):
        raise AnswersDiffer(f"{name}: ours and ClickHouse: {found}")
    by_stored_rows = middle(stored) if stored[0].data is not None else None
    print(f"  {name}: {stored[0].ms:.0f} ms, ClickHouse {others[0].ms:.0f} ms", flush=True)
    by_plain_duckdb = middle([plainly])
    return QuestionCosts(
        name, repeated, other_ranges, by_stored_rows, by_plain_duckdb, middle(others)
    )


def is_prepared(question: Question) -> bool:
    """Whether prepared results answer it."""
    if question.custom is not None:
        return True
    form = QUERY_TYPES[question.query_type].rollup_plan(None)
    filters = msgspec.convert(question.subset.filters, list[Filter])
    return form is not None and of_filters(form, filters) is not None


def turns(events: int) -> int:
    """How often an engine is asked each question."""
    return 3 if events <= MANY else 1


def from_parts(
    ours: RunningService, query: BenchmarkQuery, data_set: LakeFiles
) -> tuple[Cost, Cost, Any]:
    """The same range again and again, other ranges once each, and the answer."""
    repeated = [ours.ask(query) for _ in range(REPEATED + 1)][1:]
    others = [structs.replace(query, body={**query.body, **data_set.span(d)}) for d in OTHER_DAYS]
    timed = [ours.ask(each) for each in others]
    check(query.name, "prepared results", ours.ask(by_rows(others[0])).data, timed[0].data)
    return middle(repeated), middle(timed), repeated[0].data


def check(name: str, engine: str, stored: Any, found: Any) -> Any:
    """The answer that is there; AnswersDiffer when there are two. None is one that was refused."""
    if stored is not None and found is not None and stored != found:
        raise AnswersDiffer(f"{name}: stored rows and {engine} have different answers")
    return found if stored is None else stored


def middle(timings: Sequence[QueryTiming | ClickHouseResult]) -> Cost:
    """The middle time and the middle CPU."""
    return Cost(
        statistics.median(timing.ms for timing in timings),
        statistics.median(timing.cpu_ms for timing in timings),
    )
