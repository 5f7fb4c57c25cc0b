"""Changes against the compared time range: errors, vitals and events show those of the API."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import a_view, a_vital, an_error, an_event
from tests.web.dashboard import Dashboard, signed_in
from tests.web.downloads import downloaded
from tests.web.query_alone import query_alone

BEFORE = DAY - timedelta(days=1)
DATES = {"startDate": str(DAY), "endDate": str(DAY)}
COMPARED = {"to": {"startDate": str(BEFORE), "endDate": str(BEFORE)}}
FACTS = """[...document.querySelectorAll('.facts div')].map((fact) =>
  [fact.querySelector('dt').innerText, fact.querySelector('.change')?.innerText])"""
CHANGE = "Change of Events (%)"
VITALS = """[...document.querySelectorAll('.vitals .total')].map((total) =>
  total.querySelector('.change')?.innerText)"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """On the day before an error, a sign-up, a bounce and a slow page; then two, three and fast."""
    at: list[dict[str, Any]] = [{"at": f"{date}T10:00:00Z"} for date in (DAY, BEFORE)]
    day, before = at
    rows = [
        a_view(**before),
        a_view(visitor="bounced", session="bounced", **before),
        an_error(**before),
        an_event("signup", **before),
        a_vital("LCP", 4000, **before),
        a_view(**day),
        *(an_error(visitor=f"u{n}", session=f"s{n}", **day) for n in (1, 2)),
        *(an_event("signup", **day) for _ in range(3)),
        an_event("download", **day),
        a_vital("LCP", 1000, **day),
        a_vital("INP", 100, **day),
    ]
    with query_alone(tmp_path_factory.mktemp("grown"), rows) as tenant:
        yield tenant


@pytest.fixture
def page(chromium: Chromium, grown: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, signed in."""
    yield from signed_in(chromium, grown)


def changes(page: Dashboard, name: str, field: str) -> list[float | None]:
    """The changes in percent of a field, row by row, as the API gives them."""
    body = {"parameters": [{"name": name, "compare": COMPARED}], **DATES}
    url = f"{page.url}/v1/query?website_id={page.tenant.website.id}"
    headers = {"x-api-key": page.tenant.key, "content-type": "application/json"}
    [outcome] = call("POST", url, body, headers).json["data"]
    rows: list[dict[str, Any]] = outcome["comparison"]["rows"]
    return [row["changePercent"][field] for row in rows]


def written(percent: float | None) -> str:
    """A change as the page writes it."""
    assert percent is not None
    return f"{'+' if percent > 0 else '−' if percent < 0 else '±'}{abs(percent):g}%"


def test_totals_of_errors_change(page: Dashboard) -> None:
    page.open("errors")
    shown = dict(page.until(FACTS))
    assert shown["Errors"] == written(*changes(page, "error_summary", "totalErrors")) == "+100%"
    assert shown["Affected visitors"] == written(*changes(page, "error_summary", "affectedUsers"))
    assert shown["Different messages"] == "±0%"


def test_without_errors_before_no_percentage_is_shown(page: Dashboard) -> None:
    page.open("errors", period=f"{BEFORE}..{BEFORE}")
    assert {change for _, change in page.until(FACTS)} == {"no data before"}


TABLES = {
    "list/top_pages": ("Pages", "Visitors"),
    "events": ("Events", "Events"),
}
"""The title of the table of a view, and the number whose change it shows."""


@pytest.mark.parametrize("view", TABLES)
@pytest.mark.parametrize(
    ("days", "said"), [(1, None), (4, "too little data before"), (40, "no data before")]
)
def test_no_table_shows_a_change_since_before_the_data_began(
    page: Dashboard, view: str, days: int, said: str | None
) -> None:
    """As the overview does: data begins on the day before, the last one of four."""
    first = DAY - timedelta(days=days)
    last = first if days == 40 else BEFORE
    end = DAY + timedelta(days=days - 1) if days == 4 else DAY
    page.open(view, period=f"{DAY}..{end}", compare=f"{first}..{last}", by="daily")
    at = "[...document.querySelectorAll('main th')].find((th) => th.innerText.includes('Change'))"
    title, number = TABLES[view]
    assert page.tab.js(f"{at}.querySelector('.hint').innerText") == (said or number)
    column = page.tab.js(f"{at}.cellIndex")
    shown = {row[column] for row in page.rows(title)}
    assert shown == {"–"} if said else shown & {"0 before", "−50%", "±0%", "+100%", "+200%"}


def test_vitals_change(page: Dashboard) -> None:
    page.open("vitals")
    lcp, *others = page.until(VITALS)
    of_api = [each for each in changes(page, "vitals_overview", "p75") if each is not None]
    assert lcp == written(*of_api) == "−75%"
    assert others == [None, None, None, None]


def test_a_percentage_changes_by_points(page: Dashboard) -> None:
    page.open("overview", compare=f"{BEFORE}..{BEFORE}")
    totals = "[...document.querySelectorAll('.total')].map((each) => each.innerText)"
    [bounce] = [text for text in page.until(totals) if text.startswith("Bounce rate")]
    assert bounce.splitlines()[1:3] == ["0%", "−50 pp"]


def test_events_change_and_are_drawn_over_time(page: Dashboard) -> None:
    page.open("events", by="hourly")
    rows = {row[0]: row[2] for row in page.rows("Events")}
    assert rows == {"signup": "+200%", "download": "0 before"}
    page.press("Show as table")
    series = page.ask("custom_events_trends", granularity="hourly")
    assert [row[1] for row in page.rows("Events over time")] == [
        str(row["total_events"]) for row in series
    ]
    assert sum(row["total_events"] for row in series) == 4


def test_a_file_has_the_number_before_and_its_change(page: Dashboard) -> None:
    page.open("events")
    rows = {row["Event"]: row for row in downloaded(page, "Events")}
    changed = [rows["signup"][column] for column in ("Events", "Events before", CHANGE)]
    assert changed == ["3", "1", "200.0"]
    assert [rows["download"][column] for column in ("Events before", CHANGE)] == ["", ""]


def test_a_file_has_no_change_since_before_the_data_began(page: Dashboard) -> None:
    page.open("events", period=f"{BEFORE}..{BEFORE}")
    assert not {"Events before", CHANGE} & set(downloaded(page, "Events")[0])
