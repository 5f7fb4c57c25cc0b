"""Many websites: what the query service reads of files that thousands of websites share.

Each query goes to a service that has just begun, so that nothing is in its memory. Counted is what
the process reads while it answers (`rchar` of /proc/PID/io), the footers of the files included.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from schemas.lake.delta_table import open_table, read_version
from schemas.tables import EVENTS
from tests.bench.dataset import DataSet, make
from tests.bench.query_service import BenchmarkQuery, custom, service, standard
from tests.bench.results import BenchmarkResult, Figure

WEBSITES = 10_000
EVENTS_EACH = 300
"""Of the queried website in 30 days; the others have as many on average."""
KIB = 1024
BY_COUNTRY = {
    "table": "events",
    "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
    "groupBy": ["country"],
}


class Read(Struct, frozen=True):
    """What one query cost a service that had just begun."""

    kib: float
    cpu_ms: float


def measure() -> BenchmarkResult:
    """Three queries about one of the websites."""
    with tempfile.TemporaryDirectory(prefix="tidemark-websites-") as folder:
        data_set = make(
            Path(folder), EVENTS_EACH, WEBSITES * EVENTS_EACH, websites=WEBSITES, tables=(EVENTS,)
        )
        return over(data_set)


def over(data_set: DataSet) -> BenchmarkResult:
    """The queries, beside the bytes of all files and of the website's own rows."""
    handle = open_table(data_set.settings.lake_url, EVENTS)
    assert handle is not None
    version = read_version(handle, EVENTS)
    whole = sum(file.size for file in version.data_files) / KIB
    own = whole * data_set.events / version.rows
    return BenchmarkResult(
        "Many websites",
        f"{version.rows:,} events of {WEBSITES:,} websites in 30 days, in "
        f"{len(version.data_files)} files; one website with {data_set.events:,} of them is asked "
        "over the month, each time of a service that has just begun. The bytes of its own rows are "
        "its share of all bytes.",
        [
            Figure("bytes of all files", whole, "KiB", own, "of the website's own rows"),
            *(
                figure
                for query in queries(data_set)
                for figure in figures(query.name, ask(query, data_set), whole)
            ),
        ],
    )


def queries(data_set: DataSet) -> Iterator[BenchmarkQuery]:
    span = data_set.span()
    yield standard("summary", "website_id", {}, span)
    yield standard("top_pages", "website_id", {}, span)
    yield custom("custom: events by country", BY_COUNTRY, span)


def ask(query: BenchmarkQuery, data_set: DataSet) -> Read:
    """One query of a new service."""
    with service(data_set) as running:
        before = bytes_read(running.pid)
        timing = running.ask(query)
        assert timing.data, query
        return Read((bytes_read(running.pid) - before) / KIB, timing.cpu_ms)


def figures(name: str, read: Read, whole: float) -> Iterator[Figure]:
    yield Figure(f"{name}: read", read.kib, "KiB", whole, "bytes of all files")
    yield Figure(f"{name}: CPU", read.cpu_ms, "ms")


def bytes_read(pid: int) -> int:
    """What a process has read, from the page cache as well."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])
