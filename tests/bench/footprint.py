"""Memory of each process at rest, and bytes per event on disk."""

import tempfile
import time
from pathlib import Path

import psutil

from deploy.demo.first_start import send_week
from schemas.lake.delta_table import TableVersion, open_table, read_version
from schemas.tables import EVENTS
from tests.bench.results import BenchmarkResult, Figure
from tests.installation import Installation

VISITORS = 6_000
REST_SECONDS = 20
SETTLE_SECONDS = 25


def measure() -> BenchmarkResult:
    """A fresh start with nothing to do; then demo traffic, compacted."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Installation(Path(folder), small_parts=4) as stack,
    ):
        time.sleep(REST_SECONDS)
        pids = {**stack.pids(), "supervisor": stack.processes_status.supervisor}
        memory = {name: psutil.Process(pid) for name, pid in pids.items()}
        resident = {name: process.memory_info().rss / 2**20 for name, process in memory.items()}
        own = {name: process.memory_full_info().pss / 2**20 for name, process in memory.items()}
        size = bytes_per_event(stack)
    ours = [name for name in resident if name != "broker"]
    return BenchmarkResult(
        "Footprint",
        f"{REST_SECONDS} s after a first start, without traffic; the shares (PSS) count pages that "
        f"processes share only once. Then {VISITORS:,} demo visitors, after compaction.",
        (
            *(Figure(f"resident, {name}", resident[name], "MiB") for name in sorted(resident)),
            Figure("resident, all Python processes", sum(resident[n] for n in ours), "MiB",
                   expected="< 800"),
            Figure("shares, all Python processes", sum(own[n] for n in ours), "MiB"),
            Figure("on disk, per event", size, "bytes"),
        ),
    )  # fmt: skip


def bytes_per_event(stack: Installation) -> float:
    """Bytes of the live parts of `events` over their rows, once the keeper is done."""
    send_week(stack.settings, stack.demo, VISITORS, 1, print, lambda: False, 0)
    before, version = None, events(stack)
    while before is None or before.number != version.number:
        time.sleep(SETTLE_SECONDS)
        before, version = version, events(stack)
    return sum(part.size for part in version.data_files) / version.rows


def events(stack: Installation) -> TableVersion:
    """The newest version of the events table."""
    handle = open_table(stack.settings.lake_url, EVENTS)
    assert handle is not None
    return read_version(handle, EVENTS)
