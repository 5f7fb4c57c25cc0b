"""Explore: a custom query built by picking, its result, plan and files."""

import json
from typing import Any

from tests.web.dashboard import Dashboard

BY_PATH = {
    "table": "events",
    "selects": [
        {"aggregate": "count", "field": "*"},
        {"aggregate": "uniq", "field": "anonymous_id"},
    ],
    "groups": ["path"],
}

KEEP_FILE = """const made = URL.createObjectURL;
URL.createObjectURL = (blob) => made.call(URL, window.file = blob);"""
"""What the page offers as a file stays in `window.file`."""


def opened(dashboard: Dashboard, exploration: dict[str, Any], **own: str) -> None:
    dashboard.open("explore", q=json.dumps(exploration), **own)


def rows_of_the_api(dashboard: Dashboard) -> list[list[str]]:
    selects = [
        {"aggregate": "count", "field": "*", "alias": "count"},
        {"aggregate": "uniq", "field": "anonymous_id", "alias": "uniq_anonymous_id"},
    ]
    order = [{"field": "count", "direction": "desc"}]
    query = {"table": "events", "selects": selects, "groupBy": ["path"], "orderBy": order}
    rows = dashboard.tenant.custom(query).json["data"]
    return [[row["path"], str(row["count"]), str(row["uniq_anonymous_id"])] for row in rows]


def test_the_result_is_that_of_the_api(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH)
    expected = rows_of_the_api(dashboard)
    assert dashboard.rows("Result") == expected
    assert len(expected) == 4

    dashboard.press("Bars")
    dashboard.until("document.querySelector('.bars')")
    assert dashboard.rows("Result") == [row[:2] for row in expected]


def test_a_question_is_built_by_picking(dashboard: Dashboard) -> None:
    dashboard.open("explore")
    dashboard.press("Add to: Groups")
    dashboard.until("document.querySelectorAll('input[aria-label=Groups]').length === 2")
    dashboard.tab.js(
        "(i => { i.value = 'name'; i.dispatchEvent(new Event('change', {bubbles: true})); })"
        "([...document.querySelectorAll('input[aria-label=Groups]')].at(-1))"
    )
    dashboard.until("decodeURIComponent(location.search).includes('time:daily\",\"name')")
    dashboard.settle()
    stored = {row["name"] for row in dashboard.ask("custom_events")}
    assert {row[1] for row in dashboard.rows("Result")} == {"screen_view", *stored}


def test_it_says_what_it_reads_and_gives_files(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH)
    dashboard.press("What it reads")
    stored = dashboard.tenant.rows("summary")[0]["total_events"]
    assert f"{stored} rows of the table events" in dashboard.text("dialog li")
    dashboard.press("Close", "dialog")

    dashboard.tab.js(KEEP_FILE)
    dashboard.press("Download as csv")
    dashboard.until("!!window.file")
    text = dashboard.tab.js("window.file.text()")
    lines = [line.split(",") for line in text.split()]
    assert lines[1:] == rows_of_the_api(dashboard)
