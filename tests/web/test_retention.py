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
STEPS, LEAST_CONTRAST = 6, 4.5
CONTRASTS = """(() => {
  const list = document.querySelector('.heat-legend');
  if (!list) return null;
  const luminance = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
    .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  return [1, 2, 3, 4, 5, 6].map((step) => {
    const item = list.appendChild(document.createElement('li'));
    item.className = `heat-${step}`;
    const { color, backgroundColor } = getComputedStyle(item);
    item.remove();
    const [dark, light] = [color, backgroundColor].map(luminance).sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  });
})()"""
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
    assert len(dashboard.rows(title)) == len(RETURNED)
    assert sorted(dashboard.visitor_ids()) == RETURNED

    dashboard.press("Did not", "main")
    dashboard.until("location.search.includes('outcome=not_returned')")
    dashboard.settle()
    assert dashboard.visitor_ids() == ["once"]


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
    assert "not over yet, and nobody came again so far" in page.tab.js(f"{last}.ariaLabel")


def test_a_cell_says_its_numbers_at_the_pointer(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.tab.set_size(1280, 1000)
    dashboard.open("retention", period=f"{FIRST}..{SECOND}")
    text = dashboard.until_pointed(
        "(box => box && [box.x + 10, box.y + 10])(document.querySelector("
        "'.retention tbody td:nth-of-type(2)')?.getBoundingClientRect())",
        "document.querySelector('.retention-frame .hover')?.innerText",
    )
    lines = [line for line in text.split("\n") if line.strip()]
    assert lines[0].endswith("Day 1")
    assert lines[1:] == ["Visitors", "3", "Came again", "2", "66.67%"]


def test_the_text_of_each_step_of_the_heat_map_is_readable(
    dashboard: Dashboard, returned: Tenant
) -> None:
    """The steps of the legend have the colors and the text of the cells."""
    for scheme in ("light", "dark"):
        dashboard.tab.tell(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        dashboard.open("retention", period=f"{FIRST}..{SECOND}")
        contrasts = dashboard.until(CONTRASTS)
        assert len(contrasts) == STEPS
        assert min(contrasts) >= LEAST_CONTRAST, (scheme, contrasts)


def test_the_curve_has_the_mean_of_each_period(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.open("retention", period=f"{FIRST}..{SECOND}")
    dashboard.press("Show as table", "section[aria-label='Share that came again']")
    means = dashboard.rows("Share that came again")
    cells = "[...document.querySelectorAll('.retention tfoot td')].slice(1).map(e => e.innerText)"
    assert means == [
        [f"Day {i}", text] for i, text in enumerate(dashboard.tab.js(cells), 1) if text
    ]
    assert means[0] == ["Day 1", "66.7%"]


def test_a_cohort_begins_and_returns_with_chosen_events(
    dashboard: Dashboard, returned: Tenant
) -> None:
    """Of three who saw /again on the first day, two saw it on the second; nobody signed up then."""
    dashboard.open("retention", period=f"{FIRST}..{SECOND}", width="day", start="path:%2Fagain")
    dashboard.until(f"({CELLS})[0]?.join() === '3,66.7%'")
    dashboard.press("Comes again with: Any event")
    dashboard.type_into("input[aria-label='Comes again with']", "signup")
    dashboard.tab.js("document.activeElement.blur()")
    dashboard.until("location.search.includes('returning=event')")
    dashboard.until(f"({CELLS})[0]?.join() === '3,0%'")
    dashboard.press("0%", ".retention tbody")
    dashboard.until("location.search.includes('after=1')")
    dashboard.press("Did not", "main")
    dashboard.until("location.search.includes('outcome=not_returned')")
    eventually(lambda: sorted(dashboard.visitor_ids()) == [*sorted(["once", *RETURNED])], 30)


def test_visits_per_visitor_are_bars(dashboard: Dashboard, returned: Tenant) -> None:
    dashboard.open("retention", period=f"{FIRST}..{SECOND}")
    assert dashboard.rows("Visits per visitor") == [["1 visit", "1"], ["2 visits", "2"]]
