"""Many websites: what the query service reads of files that thousands of websites share.

Each query goes to a service that has just begun and has answered one about days without rows, so
that no data file is in its memory. Counted is what the process reads while it answers (`rchar` of
/proc/PID/io). It reads the footer of each file once; what is left are row groups.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, structs

from schemas.lake.delta_table import open_table, read_version
from schemas.tables import EVENTS
from tests.bench.dataset import DataSet, make
from tests.bench.query_service import BenchmarkQuery, custom, service, standard
from tests.bench.results import BenchmarkResult, Figure

WEBSITES = 10_000
EVENTS_EACH = 300
"""Events of the queried website in 30 days; the others have as many on average."""
KIB = 1024
BY_COUNTRY = {
    "table": "events",
    "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
    "groupBy": ["country"],
}


EMPTY_SPAN = {"startDate": "2020-01-01", "endDate": "2020-01-02"}


class Read(Struct, frozen=True):
    """Cost of one query in a service that has just started."""

    kib: float
    cpu_ms: float


class LakeBytes(Struct, frozen=True):
    """KiB of the data files."""

    whole: float
    footers: float
    own: float
    """The queried website's share of the bytes without footers, by its rows."""


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
    footers = sum(footer_bytes(Path(file.path)) for file in version.data_files) / KIB
    own = (whole - footers) * data_set.events / version.rows
    size = LakeBytes(whole, footers, own)
    return BenchmarkResult(
        "Many websites",
        f"{version.rows:,} events of {WEBSITES:,} websites in 30 days, compacted, in "
        f"{len(version.data_files)} files; one website with {data_set.events:,} of them is asked "
        "over the month, each time of a service that has just begun. The bytes of its own rows are "
        "its share of all bytes but the footers, of which each is read once.",
        [
            Figure("bytes of all files", whole, "KiB"),
            Figure("footers", footers, "KiB", whole, "bytes of all files"),
            *(
                figure
                for query in queries(data_set)
                for figure in figures(query.name, ask(query, data_set), size)
            ),
        ],
    )


def footer_bytes(file: Path) -> int:
    """Its length is before the last four bytes, by the Parquet format."""
    with file.open("rb") as opened:
        opened.seek(-8, os.SEEK_END)
        return int.from_bytes(opened.read(4), "little") + 8


def queries(data_set: DataSet) -> Iterator[BenchmarkQuery]:
    span = data_set.span()
    yield standard("summary", "website_id", {}, span)
    yield standard("top_pages", "website_id", {}, span)
    yield custom("custom: events by country", BY_COUNTRY, span)


def ask(query: BenchmarkQuery, data_set: DataSet) -> Read:
    """One query of a new service."""
    nothing = structs.replace(query, body={**query.body, **EMPTY_SPAN})
    with service(data_set) as running:
        running.ask(nothing)
        before = bytes_read(running.pid)
        timing = running.ask(query)
        assert timing.data, query
        return Read((bytes_read(running.pid) - before) / KIB, timing.cpu_ms)


def figures(name: str, read: Read, size: LakeBytes) -> Iterator[Figure]:
    yield Figure(f"{name}: read", read.kib, "KiB", size.whole, "bytes of all files")
    yield Figure(
        f"{name}: read of row groups", read.kib - size.footers, "KiB", size.own,
        "bytes of the website's own rows",
    )  # fmt: skip
    yield Figure(f"{name}: CPU", read.cpu_ms, "ms")


def bytes_read(pid: int) -> int:
    """Bytes that a process has read, also from the page cache."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])
