"""Growth of queries: one and two query services over a lake in an object store.

Each service has a data folder of its own, as on a machine of its own. Two of them are asked in
turns, or each always about the same websites.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil
from msgspec import Struct, structs

from query.engine.data_file_source import CACHE_FOLDER
from query.prepared import FOLDER
from schemas.registry import RegistryStore, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from tests.bench.dataset import DataSet, make
from tests.bench.prepared_results import parts
from tests.bench.query_service import BenchmarkQuery, RunningService, standard
from tests.bench.results import SideBySide
from tests.bench.traffic_sql import OWNER
from tests.bench.worker import cpu
from tests.http_client import is_ready
from tests.installation import ROOT, eventually, free_port
from tests.s3.server import S3Server

EVENTS, OTHERS = 60_000, 1_200_000
WEBSITES = tuple(f"web_{number}" for number in range(16))
"""Ids of the queried websites."""
TYPES = ("summary", "top_pages", "country", "channels")
LATER_DAYS = (29, 28, 27, 26, 25)
CLIENTS = 4
QUIET_SECONDS = 6.0

Choose = Callable[[int, int], int]
"""The service that is asked, by the numbers of the question and of its website."""
CASES: tuple[tuple[str, int, Choose], ...] = (
    ("1 service", 1, lambda _question, _website: 0),
    ("2 services, in turns", 2, lambda question, _website: question % 2),
    ("2 services, by website", 2, lambda _question, website: website % 2),
)


class Answered(Struct, frozen=True):
    """Cost of the responses."""

    first_cpu: float
    """CPU seconds of all services for each website's first queries and their prepared results."""
    first_seconds: float
    later_cpu: float
    later_seconds: float
    later_ms: float
    """Median of one answer."""
    cached_bytes: int
    """Copies of data files, in all services."""
    prepared_bytes: int


def measure() -> SideBySide:
    """All cases over the same lake."""
    with (
        tempfile.TemporaryDirectory(prefix="tidemark-growth-") as name,
        S3Server(Path(name) / "s3") as store,
        patch.dict(os.environ, store.environment),
    ):
        store.objects.mkdir(parents=True)
        (Path(name) / "set").mkdir()
        (Path(name) / "set" / "lake").symlink_to(store.objects)
        data_set = make(Path(name) / "set", EVENTS, OTHERS)
        register(data_set)
        size = sum(file.stat().st_size for file in store.objects.glob("*/day=*/*.parquet"))
        found = [answered(data_set, store.url, count, choose) for _, count, choose in CASES]
    return section(found, size)


def section(found: Sequence[Answered], size: int) -> SideBySide:
    """The figures side by side."""
    first, later = len(WEBSITES) * len(TYPES), len(WEBSITES) * len(TYPES) * len(LATER_DAYS)
    return SideBySide(
        "Growth: query services",
        f"{len(WEBSITES)} websites in {EVENTS + OTHERS:,} events of 30 days, {size / 1e6:.0f} MB "
        f"of data files in an S3 server on this machine; {len(TYPES)} query types by {CLIENTS} "
        "clients, first over 30 days each with empty caches, later over other ranges. "
        f"Each service has caches of its own; all share {os.cpu_count()} cores; load "
        f"{os.getloadavg()[0]:.1f}.",
        [name for name, *_ in CASES],
        [
            ("first: CPU, with preparing, ms/query", [1e3 * a.first_cpu / first for a in found]),
            ("first: answers/s", [first / a.first_seconds for a in found]),
            ("later: CPU, ms/query", [1e3 * a.later_cpu / later for a in found]),
            ("later: answers/s", [later / a.later_seconds for a in found]),
            ("later: median, ms", [a.later_ms for a in found]),
            ("copies of data files, MB", [a.cached_bytes / 1e6 for a in found]),
            ("prepared results, MB", [a.prepared_bytes / 1e6 for a in found]),
        ],
    )  # fmt: skip


def answered(data_set: DataSet, lake: str, count: int, choose: Choose) -> Answered:
    """Start the services with empty caches, and ask."""
    with tempfile.TemporaryDirectory(prefix="tidemark-services-") as name, ExitStack() as running:
        folders = [Path(name) / f"machine-{number}" for number in range(count)]
        services = [running.enter_context(service(data_set, lake, folder)) for folder in folders]
        processes = [psutil.Process(each.pid) for each in services]
        before, began = total(processes), time.monotonic()
        ask_all(services, data_set, [30], choose)
        first_seconds = time.monotonic() - began
        eventually(lambda: is_quiet(folders), 600)
        middle, began = total(processes), time.monotonic()
        times = ask_all(services, data_set, LATER_DAYS, choose)
        later_seconds = time.monotonic() - began
        return Answered(
            middle - before,
            first_seconds,
            total(processes) - middle,
            later_seconds,
            statistics.median(times),
            sum(size_of(folder / CACHE_FOLDER) for folder in folders),
            sum(size_of(folder / FOLDER) for folder in folders),
        )


def ask_all(
    services: Sequence[RunningService], data_set: DataSet, days: Sequence[int], choose: Choose
) -> list[float]:
    """All questions, by some clients at once; milliseconds of each answer."""
    asked = [
        (number, website, structs.replace(query, subject=f"website_id={name}"))
        for number, (website, name, query) in enumerate(questions(data_set, days))
    ]
    times: list[float] = []

    def client(first: int) -> None:
        for number, website, query in asked[first::CLIENTS]:
            found = services[choose(number, website)].ask(query)
            assert found.data is not None, query
            times.append(found.ms)

    clients = [threading.Thread(target=client, args=(first,)) for first in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert len(times) == len(asked), "a client failed"
    return times


def questions(data_set: DataSet, days: Sequence[int]) -> Iterator[tuple[int, str, BenchmarkQuery]]:
    """Number and name of the website, and the query; types of a website follow one another."""
    for span in map(data_set.span, days):
        for website, name in enumerate(WEBSITES):
            for type_ in TYPES:
                yield website, name, standard(type_, "website_id", {}, span)


@contextmanager
def service(data_set: DataSet, lake: str, folder: Path) -> Iterator[RunningService]:
    """A query service with a data folder of its own."""
    folder.mkdir()
    settings = structs.replace(
        data_set.settings,
        data_dir=str(folder),
        registry=data_set.settings.registry_url,
        lake=lake,
        query_port=free_port(),
        metrics_port=0,
        query_seconds=60.0,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "query"], cwd=ROOT, env={**os.environ, **to_environment(settings)}
    )
    url = f"http://127.0.0.1:{settings.query_port}"
    try:
        eventually(lambda: is_ready(url), 60)
        yield RunningService(url, data_set.key, process.pid)
    finally:
        process.terminate()
        process.wait(60)


def register(data_set: DataSet) -> None:
    """The websites that are asked about."""
    now = now_ms()
    with closing(RegistryStore(data_set.settings.registry_url)) as store:
        for name in WEBSITES:
            store.create(
                Website(
                    id=name, organization_id=OWNER, domain=f"{name}.example",
                    created_at=now, updated_at=now,
                )
            )  # fmt: skip


def is_quiet(folders: Sequence[Path]) -> bool:
    """Whether no service has prepared anything for some seconds."""
    before = [len(parts(folder / FOLDER)) for folder in folders]
    time.sleep(QUIET_SECONDS)
    return before == [len(parts(folder / FOLDER)) for folder in folders]


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def total(processes: Sequence[psutil.Process]) -> float:
    """Their CPU so far, in seconds."""
    return sum(map(cpu, processes))


if __name__ == "__main__":
    print(measure().text())
