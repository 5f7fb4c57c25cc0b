"""Retention: the grid shows what the API counts; a cell opens the visitors behind it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.flow.tenant import DAY, Tenant, at_ms
from tests.installation import eventually
from tests.web.dashboard import Dashboard
from tests.web.downloads import downloaded

FIRST, SECOND = DAY + timedelta(days=1), DAY + timedelta(days=2)
"""Days on which the other tests have no traffic."""
DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)
RETURNED = ["returns-1", "returns-2"]
CELLS = """[...document.querySelectorAll('.retention tbody tr')].map((row) =>
  [...row.cells].slice(1).map((cell) => cell.innerText.trim()).filter(Boolean))"""


@pytest.fixture(scope="module")
def returned(shop: Tenant) -> Tenant:
    """Two visitors who come on a day and again on the next; one comes once."""
    visits = [(name, 1) for name in (*RETURNED, "once")] + [(name, 2) for name in RETURNED]
    items = [
        {
            "name": "screen_view",
            "anonymousId": name,
            "sessionId": f"{name}-{days}",
            "path": "https://shop.example/again",
            "timestamp": at_ms("10:00:00") + days * DAY_MS,
        }
        for name, days in visits
    ]
    assert shop.send(items).status == 200
    dates = {"startDate": str(FIRST), "endDate": str(SECOND)}
    eventually(lambda: shop.rows("summary", **dates)[0]["pageviews"] >= len(items), 60)
    return shop


def retention(dashboard: Dashboard) -> list[dict[str, Any]]:
    """The rows of the API, by day."""
    rows: list[dict[str, Any]] = dashboard.client.ask(
        "retention",
        website_id=dashboard.tenant.website.id,
        start=FIRST,
        end=SECOND,
        period="day",
    )
    return rows


def test_the_grid_is_that_of_the_api(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.open("retention", period=f"{FIRST}..{SECOND}")
    cells: list[list[str]] = dashboard.until(CELLS)
    rows = retention(dashboard)
    expected: dict[str, list[str]] = {}
    for row in rows:
        mark = "" if row["complete"] else "*"
        text = f"{row['rate']:.1f}".removesuffix(".0") + f"%{mark}"
        expected.setdefault(row["date"], []).append(text if row["period"] else str(row["visitors"]))
    assert cells == list(expected.values())
    assert cells[0][:2] == ["3", "66.7%"]


def test_a_cell_opens_its_visitors(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.open("retention", period=f"{FIRST}..{SECOND}")
    dashboard.press("66.7%", ".retention")
    dashboard.until("location.search.includes('after=1')")
    dashboard.settle()
    title = dashboard.until(
        "[...document.querySelectorAll('main .card')].at(-1).getAttribute('aria-label')"
    )
    assert sorted(row[0] for row in dashboard.rows(title)) == RETURNED

    dashboard.press("Did not", "main")
    dashboard.until("location.search.includes('outcome=not_returned')")
    dashboard.settle()
    assert [row[0] for row in dashboard.rows(title)] == ["once"]


def test_a_cohort_begins_with_the_time_range(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.open("retention", period=f"{FIRST}..{SECOND}", width="week")
    first = dashboard.until("document.querySelector('.retention tbody th')?.innerText")
    assert f" {FIRST.day}" in f" {first.replace(',', ' ')}"
    before = FIRST - timedelta(days=1)
    assert str(before.day) not in first.replace(",", " ").replace("–", " ").split()
    assert downloaded(dashboard, "Visitors who came again")[0]["First visit"] == str(FIRST)


def test_a_period_that_is_not_over_shows_no_zero(page: Dashboard) -> None:
    """The only visitor came days ago, and not yet today."""
    page.open("retention", period="last_7d", width="day")
    cells: list[list[str]] = page.until(CELLS)
    assert cells[0] == ["1", "0%", "0%", "–"]
    last = "[...document.querySelectorAll('.retention tbody tr:first-child button')].at(-1)"
    assert "not over yet, and nobody came again so far" in page.tab.js(f"{last}.title")
