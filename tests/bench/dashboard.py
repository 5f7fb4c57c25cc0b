"""The overview of the dashboard in a real browser: bytes, paints, layout shift, answered cards.

The figures are the browser's own: `PerformanceObserver`, resource timing, and the first moment at
which no card of the overview is loading.
"""

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from query.prepared import FOLDER
from tests.bench.dataset import DataSet, make
from tests.bench.prepared_results import is_done
from tests.bench.query_service import RunningService, service
from tests.bench.results import BenchmarkResult, Figure
from tests.bench.traffic_sql import MINE
from tests.bench.worker import cpu
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.installation import eventually

EVENTS = 200_000
PREPARED_MB = 512
VISITS = 5
SECONDS = 60.0
OBSERVE = """
window.shift = 0; window.largest = 0; window.complete = 0;
const observe = (type, each) =>
  new PerformanceObserver((list) => list.getEntries().forEach(each))
    .observe({ type, buffered: true });
observe("largest-contentful-paint", (entry) => (window.largest = entry.startTime));
observe("layout-shift", (entry) => { if (!entry.hadRecentInput) window.shift += entry.value; });
const look = () => {
  const loading = document.querySelector("main .skeleton, main [aria-busy=true]");
  if (document.querySelector("main .totals") && !loading) window.complete = performance.now();
  else setTimeout(look, 4);
};
look();
"""
FIGURES = """JSON.stringify({
  bytes: ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
    .filter((entry) => !entry.name.includes("/v1/"))
    .reduce((sum, entry) => sum + entry.transferSize, 0),
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  largest: window.largest, shift: window.shift, complete: window.complete,
})"""
SIGN_IN = """fetch("/v1/sign-in", {
  method: "POST", body: JSON.stringify({ key: %s }),
  headers: { "Content-Type": "application/json", "X-Tidemark-Request": "1" },
}).then((response) => response.status)"""


class PageLoad(Struct, frozen=True):
    """One load of the overview; times in ms after the navigation began."""

    bytes: int
    """Of the page itself, as transferred; answers of the API are not in it."""
    paint: float
    largest: float
    shift: float
    complete: float
    cpu: float
    """Of the query service, in ms."""


def measure() -> BenchmarkResult:
    """Over a fresh data set."""
    with tempfile.TemporaryDirectory(prefix="tidemark-dashboard-") as folder:
        data_set = make(Path(folder), EVENTS, EVENTS)
        with service(data_set, PREPARED_MB) as ours, Chromium(Path(folder)) as chromium:
            first, later = page_loads(ours, data_set, Tab.opened(chromium))
    how = (
        f"The overview over 30 days of a website with {EVENTS:,} events, in Chromium on the same "
        f"machine. First: nothing in the caches of browser and service; later: middle of {VISITS}, "
        "when the prepared results are there."
    )
    return BenchmarkResult("Dashboard", how, figures(first, later))


def page_loads(
    ours: RunningService, data_set: DataSet, tab: Tab
) -> tuple[PageLoad, Sequence[PageLoad]]:
    """The first load of a browser that is signed in, and those after it."""
    tab.go(f"{ours.url}/docs")
    status = tab.js(SIGN_IN % json.dumps(data_set.key))
    assert status == 200, status
    tab.tell("Network.clearBrowserCache")
    tab.before_each(OBSERVE)
    span = data_set.span()
    url = f"{ours.url}/{MINE}/overview?period={span['startDate']}..{span['endDate']}"
    first = load(tab, url, ours.pid)
    eventually(lambda: is_done(Path(data_set.folder, FOLDER)), SECONDS)
    later = [load(tab, url, ours.pid) for _ in range(VISITS)]
    assert tab.complaints == [], tab.complaints
    return first, later


def load(tab: Tab, url: str, pid: int) -> PageLoad:
    """Open the address and read the figures when every card has its answer."""
    process = psutil.Process(pid)
    before = cpu(process)
    tab.go(url)
    eventually(lambda: tab.js("window.complete"), SECONDS)
    values: dict[str, Any] = json.loads(tab.js(FIGURES))
    return PageLoad(**values, cpu=(cpu(process) - before) * 1000)


def figures(first: PageLoad, later: Sequence[PageLoad]) -> list[Figure]:
    """Of the first load and of the middle of the later ones."""

    def middle(name: str) -> float:
        values: list[float] = [getattr(each, name) for each in later]
        return statistics.median(values)

    return [
        Figure("first load: transferred", first.bytes / 1000, "kB", expected="≤ 120"),
        Figure("first load: first contentful paint", first.paint, "ms", expected="≤ 200"),
        Figure("first load: largest contentful paint", first.largest, "ms"),
        Figure("first load: all cards answered", first.complete, "ms"),
        Figure("first load: cumulative layout shift", first.shift, "", expected="≤ 0.1"),
        Figure("later loads: transferred", middle("bytes") / 1000, "kB"),
        Figure("later loads: first contentful paint", middle("paint"), "ms", expected="≤ 200"),
        Figure("later loads: largest contentful paint", middle("largest"), "ms"),
        Figure("later loads: all cards answered", middle("complete"), "ms", expected="≤ 500"),
        Figure("later loads: CPU of the query service", middle("cpu"), "ms"),
        Figure("later loads: cumulative layout shift", middle("shift"), "", expected="≤ 0.1"),
    ]
