"""A file is imported on the page: uploaded, checked, started, and seen on the overview."""

import base64
import json

import pytest

from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.web.dashboard import TABLE, Dashboard
from tests.web.test_accessibility import PHONE, violations

pytestmark = pytest.mark.long

FILE = b"""timestamp,path,anonymous_id,session_id,shoe
2019-03-01T10:00:00Z,/old,ann,s1,42
2019-03-01T10:01:00Z,/older,ann,s1,42
2019-03-01T11:00:00Z,/old,bob,s2,42
2019-03-04T10:00:00Z,/old,ann,s3,42
,/bad,bob,s4,42
"""
CHOOSE = """(name, content) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
  const input = document.querySelector("input[type=file]");
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}"""


def choose(dashboard: Dashboard, name: str, content: bytes) -> None:
    text = base64.b64encode(content).decode()
    dashboard.until("document.querySelector('input[type=file]')")
    dashboard.tab.js(f"({CHOOSE})({json.dumps(name)}, {json.dumps(text)})")


def table(dashboard: Dashboard, label: str) -> list[list[str]]:
    """The cells of a table within the card of an import."""
    cells: list[list[str]] = dashboard.until(
        "((region) => region && [...region.querySelectorAll('tbody tr')].map((row) => "
        "[...row.cells].map((cell) => cell.innerText.trim())))"
        f"(document.querySelector('.table-frame[aria-label={json.dumps(label)}]'))"
    )
    return cells


def test_a_file_is_uploaded_checked_started_and_counted(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="imports")
    choose(dashboard, "visits.csv", FILE)

    dashboard.until("document.querySelector('main')?.innerText.includes('The file is checked')")
    assert table(dashboard, "Events by name") == [["pageview", "4"]]
    assert table(dashboard, "Events by day") == [["2019-03-01", "3"], ["2019-03-04", "1"]]
    assert table(dashboard, "Reasons of rejected lines") == [["'timestamp' is required", "1"]]
    unread = dashboard.tab.js(
        "[...document.querySelectorAll('.facts div')].filter((each) => each.innerText"
        ".startsWith('Columns that are not read')).map((each) => each.lastChild.innerText)"
    )
    assert unread == ["shoe"]
    first = table(dashboard, "The first events as they will be")
    assert len(first) == 4
    assert {"pageview", "2019-03-01T10:00:00Z", "/old", "ann", "s1"} == set(first[0])
    assert violations(dashboard) == []
    dashboard.tab.set_size(PHONE, 740)
    assert dashboard.tab.js("document.documentElement.scrollWidth") <= PHONE
    dashboard.tab.set_size(1280)

    dashboard.press("Import 4 events")
    dashboard.until("document.querySelector('main')?.innerText.includes('All 4 events are stored')")
    assert violations(dashboard) == []
    dashboard.until(f"({TABLE})('Imports')?.[0]?.[1] === 'done'")
    assert dashboard.rows("Imports")[0][:4] == ["visits.csv", "done", "4", "1"]

    dashboard.press("Show the first imported day")
    dashboard.settle()
    assert dashboard.path.endswith("/overview")
    row = eventually(lambda: day_totals(dashboard.tenant))
    assert row == (3, 2)
    dashboard.until(
        "[...document.querySelectorAll('.total')].some((each) => /visitors\\s+2\\b/i"
        ".test(each.innerText))"
    )


def day_totals(tenant: Tenant) -> tuple[int, int] | None:
    day = {"startDate": "2019-03-01", "endDate": "2019-03-01", "granularity": "daily"}
    rows = tenant.rows("events_by_date", **day)
    return next(((row["pageviews"], row["visitors"]) for row in rows if row["pageviews"]), None)


def test_a_file_of_totals_is_refused_with_its_reason_and_discarded(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="imports")
    choose(dashboard, "totals.csv", b"date,visitors,carts\n2019-03-01,3,9\n")

    dashboard.until("document.querySelector('main .error')?.innerText.includes('has totals')")
    assert violations(dashboard) == []
    dashboard.press("Discard")
    dashboard.until("document.querySelector('input[type=file]')")
    dashboard.until(
        f"({TABLE})('Imports')?.some((row) => row[0] === 'totals.csv' && row[1] === 'undone')"
    )


def test_daily_totals_are_checked_and_stored(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="imports")
    choose(dashboard, "imported_visitors.csv", b"date,visitors,pageviews\n2019-03-01,3,9\n")

    dashboard.until("document.body.innerText.includes('These are daily totals')")
    assert violations(dashboard) == []
    dashboard.press("Import the totals")
    dashboard.until("document.body.innerText.includes('Rows of totals that are stored: 1.')")
    dashboard.until(f"({TABLE})('Imports')?.[0]?.[2] === '1'")


def test_an_empty_file_is_named_and_not_sent(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="imports")
    choose(dashboard, "nothing.csv", b"")

    assert "is empty: there is nothing in it to import" in dashboard.text(".drop .error")
    assert violations(dashboard) == []
    dashboard.open("setup", part="imports")
    assert "nothing.csv" not in dashboard.text("main")
