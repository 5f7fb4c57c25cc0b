"""The overview of the dashboard in a real browser: bytes, paints, layout shift, answered cards.

The figures are the browser's own: `PerformanceObserver`, resource timing, and the first moment at
which no card of the overview is loading.
"""

import json
import statistics
import tempfile
from collections.abc import Sequence
from http.cookies import SimpleCookie
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
from tests.http_client import call
from tests.installation import eventually

SIZES = (20_000, 200_000)
"""Events of the data sets; the demo of `make run` is of the size of the first."""
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


class PageLoad(Struct, frozen=True):
    """One load of the overview; times in ms after the navigation began."""

    bytes: float
    """Transferred bytes of the page itself, without API responses."""
    paint: float
    largest: float
    shift: float
    complete: float
    cpu: float
    """CPU time of the query service in ms."""


def measure() -> BenchmarkResult:
    """Over fresh data sets."""
    how = (
        "The overview over 30 days of a website, in Chromium on the same machine. First: nothing "
        "in the caches of browser and service, which has just started; later: medians of "
        f"{VISITS}, with prepared results."
    )
    return BenchmarkResult("Dashboard", how, [figure for size in SIZES for figure in _loads(size)])


def _loads(events: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="tidemark-dashboard-") as folder:
        data_set = make(Path(folder), events, events)
        with service(data_set, PREPARED_MB) as ours, Chromium(Path(folder)) as chromium:
            first, later = page_loads(ours, data_set, Tab.opened(chromium))
    return [
        *figures(f"{events:,} events, first load", first),
        *figures(f"{events:,} events, later loads", median(later)),
    ]


def page_loads(
    ours: RunningService, data_set: DataSet, tab: Tab
) -> tuple[PageLoad, Sequence[PageLoad]]:
    """The first load of a browser that is signed in, and those after it."""
    tab.leave()
    sign_in(tab, ours.url, data_set.key)
    tab.before_each(OBSERVE)
    span = data_set.span()
    url = f"{ours.url}/{MINE}/overview?period={span['startDate']}..{span['endDate']}"
    first = load(tab, url, ours.pid)
    eventually(lambda: is_done(Path(data_set.folder, FOLDER)), SECONDS)
    later = [load(tab, url, ours.pid) for _ in range(VISITS)]
    assert tab.complaints == [], tab.complaints
    return first, later


def sign_in(tab: Tab, url: str, key: str) -> None:
    """Give the browser the cookies of a sign-in, before it has opened any page."""
    headers = {"X-Tidemark-Request": "1", "Origin": url}
    response = call("POST", f"{url}/v1/sign-in", {"key": key}, headers)
    assert response.status == 200, response
    cookie = SimpleCookie(response.headers["set-cookie"])
    for name, value in cookie.items():
        hidden = bool(value["httponly"])
        tab.tell("Network.setCookie", name=name, value=value.value, url=url, httpOnly=hidden)


def load(tab: Tab, url: str, pid: int) -> PageLoad:
    """Open the address and read the figures when every card has its answer."""
    process = psutil.Process(pid)
    before = cpu(process)
    tab.go(url)
    eventually(lambda: tab.js("window.complete"), SECONDS)
    values: dict[str, Any] = json.loads(tab.js(FIGURES))
    return PageLoad(**values, cpu=(cpu(process) - before) * 1000)


def figures(of: str, load: PageLoad) -> list[Figure]:
    """The figures of one load, or of the medians of several."""
    return [
        Figure(f"{of}: transferred", load.bytes / 1000, "kB", expected="≤ 120"),
        Figure(f"{of}: first contentful paint", load.paint, "ms", expected="≤ 200"),
        Figure(f"{of}: largest contentful paint", load.largest, "ms"),
        Figure(f"{of}: all cards answered", load.complete, "ms", expected="≤ 500"),
        Figure(f"{of}: CPU of the query service", load.cpu, "ms"),
        Figure(f"{of}: cumulative layout shift", load.shift, "", expected="≤ 0.1"),
    ]


def median(loads: Sequence[PageLoad]) -> PageLoad:
    """The median of each figure."""
    names = PageLoad.__struct_fields__
    return PageLoad(*(statistics.median(getattr(each, name) for each in loads) for name in names))
