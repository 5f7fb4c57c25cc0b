"""Events that arrive one by one: CPU of each process per event, and memory of the keeper.

`python -m tests.bench.one_by_one` starts an installation and posts single events of many visitors
at a fixed rate.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from schemas.lake.delta_table import open_table, read_version
from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.bench.diverse_traffic import DiverseTraffic
from tests.bench.results import BenchmarkResult, Figure
from tests.installation import ROOT, Installation, eventually

RATE = 8_000
CONNECTIONS = 64
VISITS = 20_000
"""Bodies that are posted in turn, each of a random visitor."""
WARM_SECONDS, SECONDS = 5.0, 45.0
DRAIN_SECONDS = 120.0
PROCESSES = ("collector-1", "worker-1", "keeper", "broker")
EXPECTED = {"collector-1": "≤ 42", "worker-1": "≤ 35", "keeper": "≤ 6"}


def measure() -> BenchmarkResult:
    """CPU from the first measured event until all events are stored."""
    with tempfile.TemporaryDirectory() as folder, Installation(Path(folder)) as stack:
        bodies = Path(folder) / "bodies"
        bodies.write_bytes(b"\n".join(visits()))
        website = unlimited_website(stack.settings)
        post(stack, website, bodies, WARM_SECONDS)
        before, versions, spent = stored(stack), _versions(stack), _spent(stack)
        answered = post(stack, website, bodies, SECONDS)
        events = answered["requests"]
        eventually(lambda: stored(stack) >= before + events, DRAIN_SECONDS)
        used = _spent(stack)
        peak = _peak_mib(stack.pids()["keeper"])
        commits = _versions(stack) - versions
    rate = events / answered["seconds"]
    return BenchmarkResult(
        "Events one by one",
        f"Posts of one event each, of visitors drawn from 200,000, at {rate:,.0f}/s on "
        f"{CONNECTIONS} connections for {SECONDS:.0f} s, one collector, one worker, "
        "default settings; CPU until all are stored.",
        (
            *(
                Figure(f"{name}: CPU", (used[name] - spent[name]) / events * 1e6, "µs/event",
                       expected=EXPECTED.get(name, ""))
                for name in PROCESSES
            ),
            Figure("keeper: most memory", peak, "MiB", expected="< 500"),
            Figure("commits to the events table", commits / answered["seconds"], "/s"),
            Figure("answered, p99", answered["p99_ms"], "ms"),
        ),
    )  # fmt: skip


def visits() -> Iterator[bytes]:
    """Single page views as a browser's tracker sends them."""
    traffic, now = DiverseTraffic(), now_ms()
    for _ in range(VISITS):
        item = traffic.item(traffic.visitor(), now)
        del item["eventId"]  # a body is sent more than once
        yield json.dumps(item).encode()


def unlimited_website(settings: Settings) -> str:
    """A website whose limits do not matter."""
    store = RegistryStore(settings.registry_url)
    owner = store.create(
        validation.new_organization("Bench", "enterprise", now_ms(), {"collect": 10**9})
    )
    website = store.create(validation.new_website(owner.id, "shop.example", now_ms()))
    store.close()
    return website.id


def post(
    stack: Installation, website: str, bodies: Path, seconds: float, rate: float = RATE
) -> Mapping[str, float]:
    """Post at the rate; what the load generator counted."""
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.bench.load_generator",
            str(stack.settings.collect_port), f"/track?website_id={website}",
            str(CONNECTIONS), str(seconds), str(bodies), str(rate),
        ],
        cwd=ROOT, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    answered: Mapping[str, float] = json.loads(done.stdout)
    assert not answered["bad"], answered
    assert not answered["lost"], answered
    return answered


def stored(stack: Installation) -> int:
    """Rows in the events table."""
    handle = open_table(stack.settings.lake_url, EVENTS)
    return read_version(handle, EVENTS).rows if handle else 0


def _versions(stack: Installation) -> int:
    handle = open_table(stack.settings.lake_url, EVENTS)
    return handle.version() if handle else 0


def _spent(stack: Installation) -> dict[str, float]:
    """Seconds of CPU of each process so far."""
    found = {}
    for name in PROCESSES:
        times = psutil.Process(stack.pids()[name]).cpu_times()
        found[name] = times.user + times.system
    return found


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    began = time.monotonic()
    print(measure().text())
    print(f"{time.monotonic() - began:.0f} s")
