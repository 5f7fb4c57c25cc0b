"""Every view shows the numbers of the API, and none of another question while an answer is slow."""

import json
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import urlencode

import pytest

from query.client import InvalidRequest
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import Stored, a_view, a_vital, an_error, an_event, an_outbound_click
from tests.web.dashboard import RANGE, Dashboard, percent, shown
from tests.web.downloads import KEEP_FILE, file_name
from tests.web.query_alone import query_alone

Filters = list[dict[str, Any]]
Rows = Callable[[Dashboard, Filters], list[list[str]]]

VISITORS = 12
PATHS = ("/", "/cart", "/pay", "/thanks")
ELSEWHERE = "2019-01-01..2019-01-02"
"""A time range without data."""
FILTERS: tuple[dict[str, Any], ...] = (
    {"field": "path", "operator": "eq", "value": "/cart"},
    {"field": "path", "operator": "eq", "value": "/"},
    {"field": "path", "operator": "contains", "value": "a"},
    {"field": "name", "operator": "eq", "value": "signup"},
    {"field": "country", "operator": "eq", "value": "DE"},
    {"field": "country", "operator": "ne", "value": "DE"},
    {"field": "browser_name", "operator": "eq", "value": "Safari"},
    {"field": "visit.referrer_name", "operator": "eq", "value": "Google"},
    {"field": "visit.entry_page", "operator": "eq", "value": "/"},
    {"has_done": {"event": "signup"}},
)
NO_SUCH_FIELD = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
"""Of rows that do not have the field of a filter."""
GATE = """(() => {
  const real = window.fetch;
  window.gate = { closed: false, waiting: [] };
  window.fetch = async (...request) => {
    if (gate.closed) await new Promise((open) => gate.waiting.push(open));
    return real(...request);
  };
})()"""
"""Requests of the page wait while the gate is closed."""
OPEN_GATE = "(gate.closed = false, gate.waiting.splice(0).forEach((open) => open()))"
DRAWN = """((scope) => [...scope.querySelectorAll(
  "tbody tr, tfoot tr, .total-value, .facts dd, .entry, .node, .funnel li, .plot, .map, .minutes")]
  .map((each) => (each.innerText ?? "").trim() || each.getAttribute("aria-label") || "")
  .filter(Boolean))"""
"""What an answer becomes on the page."""
TABS = """[...document.querySelectorAll('main .card .tabs > button[aria-pressed=false]')]
  .map((tab) => [tab.closest('.card').getAttribute('aria-label'), tab.innerText])"""
MOVE = """((search) => (history.pushState(null, '', search),
  dispatchEvent(new PopStateEvent('popstate')), true))"""
RANGED = (
    *("overview", "list/top_pages", "list/outbound_links", "sessions", "visitors", "events"),
    *("events/signup", "paths", "funnels", "goals", "retention", "vitals", "errors", "explore"),
    "bots",
)
ASKED = {"explore": {"ask": '{"metrics":["visits"],"dimensions":["path"]}'}}
"""Parameters of views that show nothing without a question."""


def visit(number: int) -> Iterator[Stored]:
    """One to four pages, and what was done there."""
    who: dict[str, Any] = {
        "visitor": f"u{number}",
        "session": f"s{number}",
        "country": ("DE", "US", "FR")[number % 3],
        "browser_name": "Safari" if number % 4 == 3 else "Chrome",
        "device_type": "mobile" if number % 4 == 3 else "desktop",
        "referrer_name": "Google" if number % 2 else None,
        "referrer": "https://www.google.com/" if number % 2 else None,
    }
    ids = {"visitor": who["visitor"], "session": who["session"]}
    at = [f"{DAY}T{8 + number:02}:0{minute}:00Z" for minute in range(8)]
    for minute, path in enumerate(PATHS[: 1 + number % 4]):
        yield a_view(path, at=at[minute], time_on_page=90.0 if path == "/" else None, **who)
    if number % 4 >= 2:
        order = {"total": 10 * number, "currency": "EUR" if number % 4 == 2 else "USD"}
        yield an_event("signup", at=at[5], path="/pay", properties=json.dumps(order), **who)
    if number % 3 == 0:
        yield an_outbound_click(f"https://partner{number}.example/", at=at[6], path="/", **who)
        yield an_error(f"boom {number % 2}", at=at[1], country=who["country"], **ids)
    bot: dict[str, Any] = {
        "is_bot": True,
        "bot_reason": ("ai crawler: GPTBot", "search: Googlebot")[number % 2],
    }
    yield a_view(PATHS[number % 4], at=at[7], country=who["country"], **bot)
    yield a_vital("LCP", 1500 + 400 * number, at=at[1], country=who["country"], **ids)


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant whose visitors did something for every view, with orders in two currencies."""
    rows = [row for number in range(VISITORS) for row in visit(number)]
    with query_alone(tmp_path_factory.mktemp("visited"), rows) as tenant:
        save(tenant, "goals", name="Order", event="signup", valueProperty="properties.total")
        yield tenant


def save(tenant: Tenant, kind: str, **record: Any) -> None:
    """Save a goal or money property of the website."""
    url = f"{tenant.stack.query_url}/v1/{kind}?website_id={tenant.website.id}"
    assert call("POST", url, record, {"x-api-key": tenant.key}).status < 300


@pytest.fixture
def gated(chromium: Chromium, visited: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, whose requests pass a gate."""
    dashboard = Dashboard(Tab.opened(chromium), visited)
    dashboard.take_session()
    dashboard.tab.before_each(GATE)
    yield dashboard
    dashboard.check_tab(expected=[NO_SUCH_FIELD])
    dashboard.tab.close()


def drawn(dashboard: Dashboard, scope: str = "document.querySelector('main')") -> list[str]:
    found: list[str] = dashboard.tab.js(f"{DRAWN}({scope})")
    return found


@pytest.mark.long
def test_no_view_shows_an_answer_of_another_time_range(gated: Dashboard) -> None:
    stale = {}
    for view in RANGED:
        own = ASKED.get(view, {})
        gated.open(view, **own)
        gated.until(f"{DRAWN}(document.querySelector('main')).length")
        gated.tab.js("gate.closed = true")
        gated.tab.js(f"{MOVE}('?{urlencode({'period': ELSEWHERE, **own})}')")
        gated.until("gate.waiting.length")
        if found := drawn(gated):
            stale[view] = found
        gated.tab.js(OPEN_GATE)
        gated.settle()
        assert not gated.tab.js("document.querySelector('main .broken')"), view
    assert stale == {}


def test_no_tab_shows_an_answer_of_another_one(gated: Dashboard) -> None:
    stale = {}
    for view in ("overview", "events", "vitals", "errors", "retention"):
        gated.open(view, by="hourly")
        for title, tab in gated.tab.js(TABS):
            selector = f'main .card[aria-label="{title}"]'
            drawn_by_tab = f"{selector} .series" if title == "Overview" else selector
            card = (
                f"(document.querySelector({json.dumps(drawn_by_tab)})"
                " ?? document.createElement('i'))"
            )
            gated.tab.js("gate.closed = true")
            gated.press(tab, selector)
            gated.until("gate.waiting.length")
            if found := drawn(gated, card):
                stale[view, title, tab] = found
            gated.tab.js(OPEN_GATE)
            gated.settle()
            assert not gated.tab.js("document.querySelector('main .broken')"), (title, tab)
    assert stale == {}


def test_the_focus_stays_where_it_was_while_an_answer_is_slow(gated: Dashboard) -> None:
    focused = "document.activeElement.title"
    gated.open("list/top_pages")
    gated.tab.js("gate.closed = true")
    sort = "[...document.querySelectorAll('.sort')].find((each) => each.innerText === 'Page views')"
    gated.tab.js(f"({sort}).focus(), ({sort}).click()")
    gated.until("gate.waiting.length && document.querySelector('main .replaced')")
    assert gated.tab.js("document.activeElement.className") == "replaced"
    gated.tab.js(OPEN_GATE)
    gated.settle()
    assert gated.tab.js(focused) == "Sort by Page views"


def test_a_file_has_what_was_shown_when_it_was_wanted(gated: Dashboard) -> None:
    gated.open("list/top_pages", compare="none")
    gated.tab.js("gate.closed = true")
    gated.tab.js(KEEP_FILE)
    gated.press_in_menu("Pages", "Download CSV: Pages")
    gated.until("gate.waiting.length")
    gated.tab.js(f"{MOVE}('?period={ELSEWHERE}')")
    gated.tab.js(OPEN_GATE)
    gated.until("!!window.file")
    assert gated.tab.js("window.fileName") == file_name(gated, "pages", "csv")
    lines = gated.tab.js("window.file.text()").splitlines()
    assert len(lines) == 1 + len(gated.ask("top_pages")) == 1 + len(PATHS)


def test_where_only_countries_are_recorded_a_card_says_how_there_would_be_more(
    gated: Dashboard,
) -> None:
    for view, own in (("overview", {"places": "region"}), ("list/city", {})):
        gated.open(view, **own)
        gated.until("document.querySelector('main .empty code')?.innerText.startsWith('tidemark ')")
    gated.open("overview", places="region", period=ELSEWHERE)
    card = "document.querySelector('[aria-label=Locations] .empty')"
    assert gated.until(f"{card}?.innerText") == "No data in this time range."


def test_a_visit_has_one_duration(gated: Dashboard) -> None:
    """One page view whose page was visible for 90 seconds."""
    filters = [{"field": "session_id", "operator": "eq", "value": "s4"}]
    [row] = gated.ask("session_list", filters=filters)
    assert row["duration"] == 90.0
    gated.open("sessions/s4")
    facts = gated.tab.js(
        "[...document.querySelectorAll('.facts dd')].map((each) => each.innerText)"
    )
    assert "1m 30s" in facts
    gated.open("visitors/u4")
    assert [cells[2] for cells in gated.rows("Visits")] == ["1m 30s"]


def test_a_goal_has_a_value_in_every_currency(gated: Dashboard) -> None:
    """Orders of 20, 60 and 100 EUR, and of 30, 70 and 110 USD."""
    gated.open("goals", compare="none")
    [row] = gated.rows("Goals")
    sums, means = row[6].split("\n")
    assert set(sums.split(" · ")) == {"€180.00", "$210.00"}
    assert set(means.removeprefix("avg ").split(" · ")) == {"€60.00", "$70.00"}
    assert [each["value"] for each in gated.ask("goals")] == [None]

    gated.open("goals", compare="none", period=ELSEWHERE)
    [row] = gated.rows("Goals")
    assert row[2:7] == ["0", "0", "0%", "0%", "0"]


def number(value: float | None, digits: int = 3) -> str:
    rounded = Decimal(str(value or 0)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded:,f}".rstrip("0").rstrip(".")


def duration(seconds: float | None) -> str:
    minutes, rest = divmod(round(seconds or 0), 60)
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def totals(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    metrics = ("visitors", "visits", "page_views", "views_per_visit")
    [row] = dashboard.metrics(*metrics, "bounce_rate", "median_visit_duration", filters=asked)
    texts = [number(row[name]) for name in metrics]
    return [[*texts, percent(row["bounce_rate"]), duration(row["median_visit_duration"])]]


def errors(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    [row] = dashboard.ask("error_summary", filters=asked) or [{}]
    counts = ("totalErrors", "affectedUsers", "affectedSessions")
    texts = [number(row.get(name)) for name in counts]
    return [[*texts, percent(row.get("errorRate"), 2), number(row.get("uniqueErrorTypes"))]]


def pages(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    [whole] = dashboard.metrics("visitors", filters=asked)
    rows = dashboard.ask("top_pages", filters=asked)
    shares = [percent(100 * row["visitors"] / whole["visitors"], 2) for row in rows]
    counts = shown(rows, "name", "visitors", "pageviews")
    return [[*row, share] for row, share in zip(counts, shares, strict=True)]


def events(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("custom_events", filters=asked)
    [whole] = dashboard.ask("custom_events_summary", filters=asked)
    shares = [percent(100 * row["total_events"] / whole["total_events"], 2) for row in rows]
    counts = shown(rows, "name", "total_events", "unique_users", "unique_sessions")
    return [[*row[:2], share, *row[2:]] for row, share in zip(counts, shares, strict=True)]


def visits(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("session_list", filters=asked, limit=25)
    return [[number(row["page_views"]), duration(row["duration"])] for row in rows]


def visitors(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("profile_list", filters=asked)
    return shown(rows, "session_count", "page_views", "custom_event_count")


def paths(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("paths", max_steps=4, filters=asked)
    counts = shown(rows, "name", "sessions", "visitors")
    shares = [percent(row["percentage"], 2) for row in rows]
    return [[*row[:2], share, row[2]] for row, share in zip(counts, shares, strict=True)]


def goals(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    [row] = dashboard.ask("goals", filters=asked)
    rate = percent(row["conversion_rate"], 2)
    return [[*shown([row], "visitors", "conversions")[0], rate]]


def retention(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("retention", period="day", filters=asked)
    return [[number(row["visitors"])] for row in rows if row["visitors"]]


def frequency(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    """Up to the most visits of a visitor."""
    counts = [row["visitors"] for row in dashboard.ask("visit_frequency", filters=asked)]
    while counts and not counts[-1]:
        counts.pop()
    return [[number(visitors)] for visitors in counts]


def vitals(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = dashboard.ask("web_vitals_by_page", filters=asked)
    return [[row["name"], f"{row['p75_lcp'] / 1000:.2f} s poor"] for row in rows]


def bots(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = shown(dashboard.ask("bots", filters=asked), "name", "purpose", "events", "pages")
    return [[name, PURPOSES[purpose], *counts] for name, purpose, *counts in rows]


PURPOSES = {"ai crawler": "AI crawler", "search": "Search"}


def devices(dashboard: Dashboard, asked: Filters) -> list[list[str]]:
    rows = top("device_types", "name", "visitors")(dashboard, asked)
    return [[name.capitalize(), visitors] for name, visitors in rows]


def top(name: str, *fields: str) -> Rows:
    return lambda dashboard, asked: shown(dashboard.ask(name, filters=asked, limit=8), *fields)


CELLS = """([selector, picked]) => [...document.querySelectorAll(`main ${selector} tbody tr`)].map(
  ({ cells }) => picked.map((at) => cells[at].innerText.trim().split("\\n")[0]))"""
TEXTS = """([selector]) => [[...document.querySelectorAll(`main ${selector}`)].map(
  (each) => each.innerText.trim())]"""
PARTS: tuple[tuple[str, str, str, list[int], Rows], ...] = (
    ("overview", TEXTS, ".total-value", [], totals),
    ("overview", CELLS, "[aria-label=Sources]", [0, 1], top("channels", "name", "visitors")),
    ("overview", CELLS, "[aria-label=Pages]", [0, 1], top("top_pages", "name", "visitors")),
    ("overview", CELLS, "[aria-label=Devices]", [0, 1], devices),
    (
        *("overview", CELLS, "[aria-label=Actions]", [0, 1]),
        top("custom_events", "name", "unique_users"),
    ),
    ("list/top_pages", CELLS, "table", [0, 1, 2, 3], pages),
    ("events", CELLS, ".card[aria-label=Events] table", [0, 1, 2, 3, 4], events),
    ("sessions", CELLS, "table", [4, 5], visits),
    ("visitors", CELLS, "table", [3, 4, 5], visitors),
    ("paths", CELLS, ".card[aria-label=Paths] table", [0, 1, 2, 3], paths),
    ("goals", CELLS, ".card[aria-label=Goals] table", [2, 3, 4], goals),
    ("retention", CELLS, "table.retention", [1], retention),
    ("retention", CELLS, ".card[aria-label='Visits per visitor'] table", [1], frequency),
    ("vitals", CELLS, ".card[aria-label='Side by side'] table", [0, 1], vitals),
    ("bots", CELLS, ".card[aria-label^=Bots] table", [0, 1, 2, 3], bots),
    ("errors", TEXTS, ".card[aria-label=Errors] .facts dd", [], errors),
)
"""What a view shows: how it is read, and where; the columns with numbers; what the API says."""


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 1])
def test_the_numbers_of_every_view_are_those_of_the_api_under_ten_filters(
    gated: Dashboard, first: int
) -> None:
    """Half of the filters for each view, and in the long run the other half."""
    different = {}
    for at, view in enumerate(dict.fromkeys(part[0] for part in PARTS), first):
        gated.open(view, compare="none")
        for condition in FILTERS[at % 2 :: 2]:
            search = urlencode({"period": RANGE, "compare": "none", "f": json.dumps(condition)})
            gated.tab.js(f"{MOVE}({json.dumps('?' + search)})")
            gated.settle(pause=0.02)
            for _, read, selector, columns, wanted in (part for part in PARTS if part[0] == view):
                found = gated.tab.js(f"({read})({json.dumps([selector, columns])})")
                try:
                    expected = wanted(gated, [condition])
                except InvalidRequest:  # no filter of these rows, which the page says as well
                    assert gated.tab.js("document.querySelector('main .failed') !== null")
                    continue
                if found != expected:
                    different[view, selector, str(condition)] = found, expected
    assert different == {}
