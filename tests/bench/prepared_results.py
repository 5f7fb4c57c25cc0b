"""Prepared results beside the stored rows: latency, and what preparing costs; rows are compared.

`python -m tests.bench.prepared_results FOLDER` measures over a data set that was made there.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import psutil
from msgspec import structs

from query.prepared import FOLDER
from tests.bench.dataset import DataSet, make
from tests.bench.query_service import BenchmarkQuery, RunningService, service, standard
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.worker import cpu
from tests.installation import eventually

EVENTS_MADE = 1_000_000
PREPARED_MB = 2048
TURNS = 7
TYPES = (
    "summary", "events_by_date", "top_pages", "country", "browser_name", "city", "channels",
    "traffic_sources", "entry_pages", "exit_pages", "custom_events", "outbound_links",
)  # fmt: skip
OTHER_DAYS = (29, 28, 27)
"""Ranges with nothing in memory except the parts."""
QUIET_SECONDS = 5.0
ROWS = "stored rows"


def measure() -> BenchmarkResult:
    """Over a fresh data set."""
    with tempfile.TemporaryDirectory(prefix="tidemark-prepared-") as folder:
        return measured(make(Path(folder), EVENTS_MADE, EVENTS_MADE))


def measured(data_set: DataSet) -> BenchmarkResult:
    """The figures of a data set; parts that are there are kept."""
    folder = Path(data_set.folder, FOLDER)
    with service(data_set, PREPARED_MB) as making:
        figures = list(cost_of_rollups(making, data_set, folder))
    with service(data_set, PREPARED_MB) as ours:
        figures += [each for name in TYPES for each in of_type(ours, data_set, name)]
    how = (
        f"{data_set.events:,} events of one website in 30 days, parts on disk; over HTTP, after a "
        "restart of the service. First: nothing in memory except what the types above needed; "
        f"other ranges: median of {len(OTHER_DAYS)}; repeated and stored rows: median of {TURNS}. "
        "The rows of both are compared."
    )
    return BenchmarkResult("Prepared results", how, figures)


def cost_of_rollups(ours: RunningService, data_set: DataSet, folder: Path) -> Iterator[Figure]:
    """CPU and bytes of the parts of all data files, per event of the website."""
    process = psutil.Process(ours.pid)
    before = cpu(process)
    ours.ask(standard("summary", "website_id", {}, data_set.span()))
    asked = cpu(process)
    eventually(lambda: is_done(folder), 600)
    spent = cpu(process) - asked
    size = sum(path.stat().st_size for path in parts(folder))
    yield Figure("first query, by stored rows", (asked - before) * 1000, "ms CPU")
    yield Figure("making parts", spent / data_set.events * 1e6, "µs CPU per event", expected="≤ 4")
    yield Figure("parts on disk", size / data_set.events, "bytes per event", expected="≤ 12")


def is_done(folder: Path) -> bool:
    """Whether there are parts, and no new one within some seconds."""
    before = len(parts(folder))
    sleep(QUIET_SECONDS)
    return 0 < before == len(parts(folder))


def parts(folder: Path) -> list[Path]:
    """The parts that are there."""
    return list(folder.glob("*/*/*.parquet"))


def of_type(ours: RunningService, data_set: DataSet, name: str) -> Iterator[Figure]:
    """First, repeated and with another range, beside the stored rows."""
    query = standard(name, "website_id", {}, data_set.span())
    first = ours.ask(query)
    repeated = [ours.ask(query).ms for _ in range(TURNS)]
    rows = [ours.ask(by_rows(query)) for _ in range(TURNS)]
    base = statistics.median(each.ms for each in rows)
    others = [standard(name, "website_id", {}, data_set.span(days)) for days in OTHER_DAYS]
    timed = [ours.ask(each) for each in others]
    pairs = [(query, first), *zip(others, timed, strict=True)]
    assert all(ours.ask(by_rows(each)).data == found.data for each, found in pairs), name
    yield Figure(f"{name}, first", first.ms, "ms", base, ROWS)
    middle = statistics.median(each.ms for each in timed)
    yield Figure(f"{name}, other ranges", middle, "ms", base, ROWS)
    yield Figure(f"{name}, repeated", statistics.median(repeated), "ms", base, ROWS, "≤ 15")


def by_rows(query: BenchmarkQuery) -> BenchmarkQuery:
    """The same without prepared results."""
    return structs.replace(query, subject=f"{query.subject}&prepared=false")


if __name__ == "__main__":
    print(measured(make(Path(sys.argv[1]))).text())
