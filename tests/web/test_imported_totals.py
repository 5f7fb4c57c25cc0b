"""Imported totals stand beside the numbers of the website: marked in words, never added."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.query.lake import a_view, imported
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone

FIRST, SECOND = DAY - timedelta(days=2), DAY - timedelta(days=1)
PERIOD = f"{FIRST}..{DAY}"
ROWS = (
    imported(f"{FIRST}", visitors=1200, visits=1500, page_views=4000, bounces=500),
    imported(f"{SECOND}", visitors=30, visits=40, page_views=50, bounces=20),
    imported(f"{DAY}", visitors=999, visits=999, page_views=999),
    imported(f"{FIRST}", "path", "/old", visitors=700, page_views=900),
    imported(f"{SECOND}", "path", "/old", visitors=20, page_views=30),
    imported(f"{SECOND}", "path", "/", visitors=10, page_views=20),
    a_view("/", at=f"{DAY}T10:00:00Z"),
)
MARKS = """[...document.querySelectorAll("main .imported-mark")].map((mark) => mark.innerText)"""
BARS = """[...document.querySelectorAll("section[aria-label=Pages] table")].map((table) =>
  [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText)))"""
FROM = "Imported from Plausible"


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A website that another product counted until the day before."""
    with query_alone(tmp_path_factory.mktemp("switched"), ROWS) as tenant:
        yield tenant


@pytest.fixture
def page(chromium: Chromium, switched: Tenant) -> Iterator[Dashboard]:
    yield from signed_in(chromium, switched)


def test_imported_days_are_a_marked_part_of_the_series(page: Dashboard) -> None:
    page.open("overview", period=PERIOD, by="daily", compare="none")

    page.until("document.querySelector('.series .imported-mark')")
    page.until("document.querySelector('.totals ~ .imported-mark')")
    assert page.tab.js(MARKS)[:2] == [
        f"{FROM}, not in the totals above: Visitors (each day counted anew): 2,229, "
        "Visits: 2,539, Page views: 5,049",
        FROM,
    ]
    label = page.until("document.querySelector('.plot').getAttribute('aria-label')")
    assert label.partition(". ")[2].endswith(": 30 – 1,200")
    assert page.text(".total-value") == "1"
    page.press("Show as table")
    values = [row[1:] for row in page.rows("Overview")]
    assert values == [["–", "1,200"], ["–", "30"], ["1", "999"]]


def test_a_breakdown_lists_imported_rows_below_its_own(page: Dashboard) -> None:
    page.open("overview", period=PERIOD)

    rows = page.until(f"({BARS}).length === 2 && {BARS}")
    assert rows == [[["/", "1"]], [["/old", "720"], ["/", "10"]]]
    section = "document.querySelector('section[aria-label=Pages] section.imported')"
    assert page.until(f"{section}.getAttribute('aria-label')") == FROM
    assert not page.tab.js(f"{section}.querySelector('button')")  # they cannot be filtered by
    places = "document.querySelector('section[aria-label=Locations] .imported-mark')?.innerText"
    assert page.until(places) == (
        "There are imported totals in this time range, which do not have this."
    )


def test_filters_leave_imported_totals_out_and_say_so(page: Dashboard) -> None:
    page.open("overview", period=PERIOD, f="path:eq:/")

    assert page.until(f"({MARKS}).length && {MARKS}") == [
        "There are imported totals in this time range. They cannot be filtered, and are not shown."
    ]


def test_a_day_with_events_of_its_own_shows_both(page: Dashboard) -> None:
    page.open("overview", period=f"{DAY}..{DAY}", by="daily", compare="none")

    assert page.text(".total-value") == "1"
    assert page.until("document.querySelector('.totals ~ .imported-mark')?.innerText") == (
        f"{FROM}, not in the totals above: Visitors (each day counted anew): 999, Visits: 999, "
        "Page views: 999"
    )
