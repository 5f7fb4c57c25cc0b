"""Filters of the page: on what visitors did, and the days of a bucket."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.installation import eventually
from tests.query.lake import Stored, a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone

SAW_PRICING = {"has_done": {"path": "/pricing"}}
CHOOSE = """(select, value) => {
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}"""
REFERRERS = (
    ("Direct", "Direct"),
    (None, None),
    (None, None),
    ("Google", "https://www.google.com/"),
    (None, "https://partner.example/"),
)
"""Name and URL; rows without a name are from before names were stored."""
ROWS_LEFT = """document.querySelectorAll(
  "main :is([aria-label=Sources], [aria-label=Referrers]) tbody tr").length === 1"""
TOTAL = "document.querySelector('.total-value')?.innerText"


def referred(number: int) -> Stored:
    """A page view of its own visitor."""
    name, url = REFERRERS[number]
    who: dict[str, Any] = {"visitor": f"u{number}", "session": f"s{number}"}
    return a_view("/", at=f"{DAY}T10:00:00Z", referrer_name=name, referrer=url, **who)


@pytest.fixture(scope="module")
def old_and_new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant with visits of all kinds of sources."""
    views = [referred(number) for number in range(len(REFERRERS))]
    with query_alone(tmp_path_factory.mktemp("sources"), views) as tenant:
        yield tenant


@pytest.fixture
def sources(chromium: Chromium, old_and_new: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, signed in."""
    yield from signed_in(chromium, old_and_new)


VALUE = ".filter-panel .filter-row:last-of-type [role=combobox]"
"""The input of the values of the last condition."""


def choose_field(dashboard: Dashboard, field: str) -> None:
    """Open the panel with a new condition on a field."""
    dashboard.press("Filter", ".filters")
    dashboard.until("document.activeElement?.matches('.filter-panel [role=combobox]')")
    change_field(dashboard, field)


def change_field(dashboard: Dashboard, field: str) -> None:
    """Choose what the last condition of the panel is about."""
    dashboard.tab.js("[...document.querySelectorAll('.filter-panel .dimension')].at(-1).click()")
    item = f"document.querySelector('.dimensions [data-field=\"{field}\"]')"
    dashboard.until(f"(item => item && (item.click(), true))({item})")
    dashboard.until("!document.querySelector('.dimensions:popover-open')")


def choose_operator(dashboard: Dashboard, operator: str) -> None:
    """Choose the operator of the last condition of the panel."""
    selects = "[...document.querySelectorAll('.filter-panel select')]"
    dashboard.tab.js(f"({CHOOSE})({selects}.at(-1), '{operator}')")


def apply(dashboard: Dashboard) -> None:
    """Apply the conditions of the panel."""
    dashboard.press("Apply", ".filter-panel")
    dashboard.until("!document.querySelector('.filter-panel')")


@pytest.mark.parametrize("view", ["overview", "list/traffic_sources"])
def test_a_click_on_a_source_keeps_the_visits_of_its_row(sources: Dashboard, view: str) -> None:
    sources.open(view, sources="traffic_sources")
    title = "Sources" if view == "overview" else "Referrers"
    rows = dict(row[:2] for row in sources.rows(title))
    assert rows == {"Direct": "3", "Google": "1", "https://partner.example/": "1"}

    for name, visitors in rows.items():
        sources.open(view, sources="traffic_sources")
        sources.press(name, "main .card")
        sources.until("document.querySelector('.chip')")
        assert sources.text(".chip-text") == f"Referrer is {name}"
        sources.until(ROWS_LEFT)
        assert [row[:2] for row in sources.rows(title)] == [[name, visitors]]


def test_a_typed_source_is_the_one_of_the_row(sources: Dashboard) -> None:
    sources.open("overview", sources="traffic_sources")
    choose_field(sources, "visit.referrer_name")
    sources.type_into(VALUE, "Direct")
    apply(sources)
    sources.until(f"{TOTAL} === '3'")
    assert sources.text(".chip-text") == "Referrer is Direct"
    sources.until("document.querySelector('tr.chosen')?.innerText.startsWith('Direct')")

    sources.press("Referrer is Direct")
    sources.until("document.querySelector('.filter-panel .values .chip')")
    choose_operator(sources, "ne")
    apply(sources)
    sources.until(f"{TOTAL} === '2'")
    assert sources.text(".chip-text") == "Referrer is not Direct"


def test_a_filter_may_be_about_the_visitors_who_saw_a_page(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    choose_field(dashboard, "did.path")
    operators = "document.querySelector('.filter-panel select').options.length"
    dashboard.until(f"{operators} === 2")
    dashboard.type_into(VALUE, "/pricing")
    apply(dashboard)
    dashboard.settle()

    pages = dashboard.ask("top_pages", filters=[SAW_PRICING], limit=8)
    expected = [[row["name"], str(row["visitors"])] for row in pages]
    assert dashboard.rows("Pages") == expected
    assert "/" in {row[0] for row in expected}
    assert dashboard.text(".chip-text") == "Visitor saw page /pricing"


def test_goals_of_one_page_lead_to_those_of_its_visitors(dashboard: Dashboard) -> None:
    dashboard.open("goals")
    dashboard.press("New goal")
    dashboard.type_into("dialog input[name=name]", "Ordered")
    dashboard.type_into("input[aria-label='Reached by']", "purchase")
    dashboard.tab.js("document.activeElement.blur()")
    dashboard.press("Save", "dialog")
    dashboard.until("!document.querySelector('dialog')")

    dashboard.open("goals", f="path:eq:/pricing")
    [only_there] = dashboard.rows("Goals")
    dashboard.press("Count all of the visitors who saw it")
    dashboard.until("document.querySelector('main .notice')?.innerText.includes('before or after')")
    dashboard.settle()
    [of_visitors] = dashboard.rows("Goals")

    dashboard.open("overview", f="path:eq:/pricing")
    noted = "[...document.querySelectorAll('.card:has(.notice) h2')].map((each) => each.innerText)"
    assert "Goals" in dashboard.until(f"{noted}.length > 1 && {noted}")

    goal = {"event": "purchase"}
    on_page = {"field": "path", "operator": "eq", "value": "/pricing"}
    for shown, filters in ((only_there, on_page), (of_visitors, SAW_PRICING)):
        [row] = dashboard.ask("goals", goals=[goal], filters=[filters])
        assert (shown[2], shown[4]) == (str(row["conversions"]), str(row["visitors"]))
    assert (only_there[2], of_visitors[2]) == ("0", "3")

    url = f"{dashboard.url}/v1/segments?website_id={dashboard.tenant.website.id}"
    segment = {"name": "On pricing", "filters": [on_page]}
    assert call("POST", url, segment, {"x-api-key": dashboard.tenant.key}).status == 201
    dashboard.open("goals", f='{"segment":"On pricing"}')
    dashboard.press("Count all of the visitors who saw it")
    dashboard.until("document.querySelector('main .notice')?.innerText.includes('before or after')")
    eventually(lambda: dashboard.rows("Goals")[0][2] == "3", 60)
    dashboard.press("Edit the goal Ordered")
    dashboard.press("Delete …", "dialog")
    dashboard.press("Delete", "dialog")
    dashboard.until("document.querySelector('main .empty')")


def test_a_click_on_the_chart_shows_one_day(dashboard: Dashboard) -> None:
    dashboard.tab.set_size(1200, 1000)
    first, last = DAY - timedelta(days=1), DAY + timedelta(days=1)
    dashboard.open("overview", period=f"{first}..{last}", by="daily")
    middle = (
        "(r => r && [r.x + r.width / 2, r.y + r.height / 2])"
        "(document.querySelector('.u-over')?.getBoundingClientRect())"
    )
    dashboard.until_pointed(middle, "document.querySelector('.plot .hover')?.innerText")
    x, y = dashboard.tab.js(middle)
    at = {"x": x, "y": y}
    for kind in ("mousePressed", "mouseReleased"):
        dashboard.tab.tell("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
    dashboard.until(f"location.search.includes('period={DAY}..{DAY}')")


def test_a_week_that_is_not_over_is_this_week(dashboard: Dashboard) -> None:
    """It is compared with the same part of the week before. On a Sunday its days are the last 7."""
    dashboard.open("overview", period="last_week")
    dashboard.tab.js("Date.now = () => Date.parse('2026-11-29T12:00:00Z')")
    dashboard.press("Later time range")
    dashboard.until("location.search.includes('period=this_week')")
    dashboard.open("overview", period="yesterday")
    dashboard.press("Later time range")
    dashboard.until("location.search.includes('period=today')")


def test_the_week_before_last_week_is_one_step_back(dashboard: Dashboard) -> None:
    today = datetime.now(UTC).date()
    monday = today - timedelta(days=today.weekday() + 14)
    dashboard.open("overview", period="last_week")

    dashboard.press("Earlier time range")

    dashboard.until(f"location.search.includes('period={monday}..{monday + timedelta(days=6)}')")


def test_days_until_today_are_compared_like_the_preset(dashboard: Dashboard) -> None:
    dashboard.open("overview", period="last_30d")

    dashboard.press("Earlier time range")
    dashboard.until("/period=[-0-9]+[.]{2}/.test(location.search)")
    dashboard.press("Later time range")

    dashboard.until("location.search.includes('period=last_30d')")


@pytest.mark.parametrize(
    ("period", "before"),
    [
        ("2026-03-01..2026-03-31", "2026-02-01..2026-02-28"),
        ("2026-01-01..2026-03-31", "2025-10-01..2025-12-31"),
        ("2024-01-01..2024-12-31", "2023-01-01..2023-12-31"),
        ("2026-03-05..2026-03-06", "2026-03-03..2026-03-04"),
    ],
)
def test_before_months_of_the_calendar_come_as_many(
    page: Dashboard, period: str, before: str
) -> None:
    page.open("overview", period=period)

    page.press("Earlier time range")
    page.until(f"location.search.includes('period={before}')")
    page.press("Later time range")

    page.until(f"location.search.includes('period={period}')")


def test_a_view_without_rows_names_the_filters(dashboard: Dashboard) -> None:
    for view in ("errors", "vitals"):
        dashboard.open(view, f="path:eq:/nowhere")

        assert dashboard.text("main .empty").startswith("Nothing matches these filters")
