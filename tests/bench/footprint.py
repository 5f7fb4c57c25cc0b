"""Memory and CPU of each process at rest, and bytes per event on disk."""

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
        processes = {name: psutil.Process(pid) for name, pid in sorted(pids.items())}
        before = {name: cpu_seconds(process) for name, process in processes.items()}
        began = time.monotonic()
        time.sleep(REST_SECONDS)
        seconds = time.monotonic() - began
        cpu = {n: (cpu_seconds(p) - before[n]) / seconds * 100 for n, p in processes.items()}
        shares = {n: p.memory_full_info().pss / 2**20 for n, p in processes.items()}
        size = bytes_per_event(stack)
    return BenchmarkResult(
        "Footprint",
        f"{REST_SECONDS} to {2 * REST_SECONDS} s after a first start, without traffic; the shares "
        "(PSS) count pages that processes share only once, CPU is in percent of one core. Then "
        f"{VISITORS:,} demo visitors, after compaction.",
        (
            *(Figure(f"shares, {name}", shares[name], "MiB") for name in processes),
            Figure("shares, all processes", sum(shares.values()), "MiB", expected="<= 500"),
            *(Figure(f"CPU, {name}", cpu[name], "%") for name in processes),
            Figure("CPU, all processes", sum(cpu.values()), "%", expected="<= 3"),
            Figure("on disk, per event", size, "bytes"),
        ),
    )


def cpu_seconds(process: psutil.Process) -> float:
    """User and system time of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


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
