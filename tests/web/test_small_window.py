"""In a small window: a low head, no table beyond an edge, and fields that can be read."""

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.web.dashboard import Dashboard
from tests.web.test_accessibility import views

MOST_HEAD = 180
LEAST_FIELD = 120
CUT = """[...document.querySelectorAll('main .table-frame')].filter((frame) =>
  !frame.querySelector('.retention, .flow') && frame.scrollWidth > frame.clientWidth + 1
).map((frame) => [frame.getAttribute('aria-label'), frame.scrollWidth, frame.clientWidth])"""
WRITTEN_TEXTS = """window.written = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const at = this.getTransform().transformPoint({ x, y });
  const { width } = this.measureText(text);
  window.written.push({ text, x: Math.round(at.x), y: Math.round(at.y), width });
  return fill.call(this, text, x, y, ...rest);
};"""
"""Notes what charts write, and where."""
FIRST_CARD = "document.querySelector('main .card').getBoundingClientRect().top + scrollY"


@pytest.mark.parametrize("width", [360, 768, 1280, 1440])
def test_no_table_goes_on_beyond_an_edge(dashboard: Dashboard, width: int) -> None:
    dashboard.tab.set_size(width)
    dashboard.open("overview")
    cut = {}
    for view in [*views(dashboard), "list/top_pages", "list/traffic_sources"]:
        dashboard.open(view)
        if found := dashboard.tab.js(CUT):
            cut[view] = found
    assert cut == {}


@pytest.mark.parametrize("days", [1, 2, 3, 7])
def test_hours_of_a_series_are_marked_and_do_not_collide(
    chromium: Chromium, small: Tenant, days: int
) -> None:
    tab = Tab.opened(chromium)
    tab.before_each(WRITTEN_TEXTS)
    tab.set_size(360)
    page = Dashboard(tab, small)
    page.take_session()
    page.open("overview", period=f"{DAY - timedelta(days=days - 1)}..{DAY}", by="hourly")
    page.until("window.written.length")
    lowest = max(text["y"] for text in tab.js("window.written"))
    marks = {text["x"]: text for text in tab.js("window.written") if text["y"] == lowest}
    places = sorted(marks)

    assert len(places) >= 3, marks
    for left, right in pairwise(places):
        room = (marks[left]["width"] + marks[right]["width"]) / 2
        assert right - left > room, (marks[left], marks[right])
    tab.close()


def test_retention_shows_three_periods_on_a_phone(page: Dashboard) -> None:
    page.tab.set_size(360)
    page.open("retention", period=f"{DAY}..{DAY + timedelta(days=6)}")
    heads = page.until(
        "(frame => frame && [...frame.querySelectorAll('thead th')].map(head => "
        "frame.getBoundingClientRect().right - head.getBoundingClientRect().right))"
        "(document.querySelector('.retention')?.parentElement)"
    )
    assert sum(room >= 0 for room in heads) >= 5  # cohort, visitors and three days
    assert page.tab.js("document.documentElement.scrollWidth") <= 360


def test_the_head_is_low(page: Dashboard) -> None:
    page.tab.set_size(360)
    for view in ("sessions", "events", "goals?period=last_90d", "errors"):
        name, _, query = view.partition("?period=")
        page.open(name, **({"period": query} if query else {}))
        assert page.until(FIRST_CARD) <= MOST_HEAD


def test_all_columns_are_shown_on_demand(dashboard: Dashboard) -> None:
    dashboard.tab.set_size(360)
    dashboard.open("sessions")
    heads = "[...document.querySelectorAll('thead th')].filter((e) => e.checkVisibility()).length"
    assert dashboard.tab.js(heads) == 3
    dashboard.press("Show 5 more columns", "main")
    dashboard.until(f"{heads} === 8")
    dashboard.press("Fewer columns", "main")
    dashboard.until(f"{heads} === 3")


def test_the_fields_of_a_funnel_can_be_read(page: Dashboard) -> None:
    page.tab.set_size(360)
    page.open("funnels")
    widths = page.until(
        "[...document.querySelectorAll('.step-inputs input')].map(e => e.clientWidth)"
    )
    assert len(widths) >= 2
    assert min(widths) >= LEAST_FIELD


def test_what_the_bars_have_no_room_for_is_in_menus(page: Dashboard) -> None:
    page.tab.set_size(360)
    page.open("overview", compare="none")
    page.press("Comparison and options", "main")
    page.press("Previous period", ".popover:popover-open")
    page.until("!location.search.includes('compare=none')")
    page.press("Menu", "header.rail")
    page.press("Keyboard shortcuts", ".popover:popover-open")
    page.until("document.querySelector('dialog dl.keys')")
