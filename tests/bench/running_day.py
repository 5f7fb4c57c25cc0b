"""The running day: ranges that end today, whose rows have no stored parts; rows are compared.

`python -m tests.bench.running_day FOLDER` measures over a data set that is made there.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep

import duckdb

from query.prepared import FOLDER
from schemas.tables import EVENTS
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.parquet_writer import write_data_file
from tests.bench.dataset import DAYS, DataSet, make
from tests.bench.prepared_results import PREPARED_MB, ROWS, by_rows, is_done
from tests.bench.query_service import BenchmarkQuery, RunningService, service, standard
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.traffic_sql import MACROS, day_of, traffic_mix
from tests.installation import eventually

EVENTS_MADE = 3_000_000
TYPES = (
    "summary", "events_by_date", "top_pages", "country", "channels", "device_types",
    "traffic_sources", "entry_pages",
)  # fmt: skip
OTHER_DAYS = (29, 28, 27)
"""Ranges that were not queried before."""
COMMITS, COMMIT_ROWS = 3, 200
SEEN_SECONDS = 2.5
"""After a commit, until queries read it."""


def measure() -> BenchmarkResult:
    """Over a fresh data set, whose last day is the present one."""
    with tempfile.TemporaryDirectory(prefix="tidemark-today-") as folder:
        return measured(until_today(Path(folder)))


def until_today(folder: Path) -> DataSet:
    """One website, whose last day is the present one."""
    first = datetime.now(UTC).date() - timedelta(days=DAYS - 1)
    return make(folder, EVENTS_MADE, 0, tables=[EVENTS], first=first)


def measured(data_set: DataSet) -> BenchmarkResult:
    """The figures of a data set."""
    with service(data_set, PREPARED_MB) as ours:
        for name in TYPES:
            ours.ask(asked(data_set, name))
        eventually(lambda: is_done(Path(data_set.folder, FOLDER)), 600)
        figures = [
            figure
            for i, name in enumerate(TYPES)
            for figure in of_type(ours, data_set, name, i * COMMITS)
        ]
    how = (
        f"{data_set.events:,} events of one website in 30 days, the last of them today, "
        f"over HTTP. First: no part of today exists; other ranges: median of "
        f"{len(OTHER_DAYS)}, all with today; after a commit: of {COMMIT_ROWS} rows, median of "
        f"{COMMITS}. The rows of both are compared."
    )
    return BenchmarkResult("Running day", how, figures)


def asked(data_set: DataSet, name: str, days: int = DAYS) -> BenchmarkQuery:
    """A query of the last so many days."""
    return standard(name, "website_id", {}, data_set.span(days))


def of_type(ours: RunningService, data_set: DataSet, name: str, commits: int) -> Iterator[Figure]:
    """First, with other ranges, and after commits, beside the stored rows."""
    query = asked(data_set, name)
    first = ours.ask(query)
    base = ours.ask(by_rows(query))
    assert first.data == base.data, name
    others = [ours.ask(asked(data_set, name, days)).ms for days in OTHER_DAYS]
    after = []
    for number in range(COMMITS):
        commit(data_set, commits + number)
        sleep(SEEN_SECONDS)
        after.append(ours.ask(query))
    assert after[-1].data == ours.ask(by_rows(query)).data, name
    yield Figure(f"{name}, first", first.ms, "ms", base.ms, ROWS)
    yield Figure(f"{name}, other ranges", statistics.median(others), "ms", base.ms, ROWS, "≤ 100")
    middle = statistics.median(each.ms for each in after)
    yield Figure(f"{name}, after a commit", middle, "ms", base.ms, ROWS, "≤ 100")


def commit(data_set: DataSet, number: int) -> None:
    """Store further rows of today, as a worker does."""
    lake, day = LakeTable(data_set.settings, EVENTS), str(data_set.last)
    with closing(duckdb.connect()) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; {MACROS}")
        mix = traffic_mix(COMMIT_ROWS, DAYS, 0)
        rows = day_of(connection, EVENTS, day, 2 * (DAYS + number), mix)
    offsets = OffsetUpdate(DAYS + number, DAYS + number + 1)
    lake.commit([write_data_file(lake.store, EVENTS, day, rows)], {"bench": offsets})


if __name__ == "__main__":
    print(measured(until_today(Path(sys.argv[1]))).text())
