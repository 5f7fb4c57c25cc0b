"""Lists of the dashboard as CSV files: all rows, with the numbers of the API."""

from typing import Any

import pytest

from query.formats.formula_guard import guarded
from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY
from tests.query.lake import a_view, an_event
from tests.web.dashboard import Dashboard, signed_in
from tests.web.downloads import downloaded, file_name
from tests.web.query_alone import query_alone

LISTS = (
    (
        "sessions",
        "Visits",
        "session_list",
        {"session_id": "Session id", "page_views": "Page views"},
    ),
    ("visitors", "Visitors", "profile_list", {"visitor_id": "Visitor", "session_count": "Visits"}),
    ("events", "Events", "custom_events", {"name": "Event", "unique_users": "Visitors"}),
    ("errors", "Grouped errors", "error_changes", {"name": "Error", "count": "Errors"}),
    (
        "vitals",
        "Side by side",
        "web_vitals_by_page",
        {"name": "Pages", "measurements": "Measurements of all vitals"},
    ),
    ("paths", "Paths", "paths", {"name": "Path", "sessions": "Visits"}),
    ("list/top_pages", "Pages", "top_pages", {"name": "Pages", "pageviews": "Page views"}),
    ("list/country", "Countries", "country", {"name": "Countries: code", "visitors": "Visitors"}),
    (
        "list/custom_events",
        "Events",
        "custom_events",
        {"unique_users": "Visitors", "unique_sessions": "Visits"},
    ),
)
PAGE_ROWS = 10_000
"""Rows that one request gives."""
OPTIONS: dict[str, dict[str, Any]] = {"paths": {"max_steps": 4}}


@pytest.mark.parametrize(("view", "title", "name", "columns"), LISTS)
def test_a_list_is_a_file_with_all_rows(
    dashboard: Dashboard, view: str, title: str, name: str, columns: dict[str, str]
) -> None:
    dashboard.open(view)
    rows = downloaded(dashboard, title)
    expected = dashboard.ask(name, limit=500, **OPTIONS.get(name, {}))
    assert rows
    assert sorted([row[header] for header in columns.values()] for row in rows) == sorted(
        [str(row[field]) for field in columns] for row in expected
    )
    assert dashboard.tab.js("window.fileName").endswith(
        file_name(dashboard, title.lower().replace(" ", "-"), "csv")
    )


def test_the_file_of_visits_has_the_entry_page_and_both_times(dashboard: Dashboard) -> None:
    dashboard.open("sessions")
    rows = downloaded(dashboard, "Visits")
    assert {row["Entry page"] for row in rows} == {"/"}
    expected = {row["session_id"]: row for row in dashboard.ask("session_list", limit=500)}
    for row in rows:
        visit = expected[row["Session id"]]
        times = [row["Began (UTC)"], row["Last event (UTC)"]]
        assert times == [visit["first_visit"], visit["last_visit"]]


def test_a_file_has_the_rows_of_all_pages_under_the_filters(dashboard: Dashboard) -> None:
    dashboard.open("sessions", f="visit.utm_source:eq:newsletter")
    where = [{"field": "visit.utm_source", "operator": "eq", "value": "newsletter"}]
    expected = dashboard.ask("session_list", filters=where, limit=500)
    rows = downloaded(dashboard, "Visits")
    assert [row["Session id"] for row in rows] == [row["session_id"] for row in expected]
    assert 0 < len(rows) < len(dashboard.ask("session_list", limit=500))


def test_a_funnel_and_those_who_left_it_are_files(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing", breakdown="device_type")
    rows = downloaded(dashboard, "Funnel by Device")
    steps = [{"path": "/"}, {"path": "/pricing"}]
    expected = dashboard.ask("funnel", steps=steps, breakdown="device_type")
    assert [[row["Device"], row["Steps"], row["Visitors"], row["Left"]] for row in rows] == [
        [each["breakdown"], str(each["step"]), str(each["visitors"]), str(each["dropped"])]
        for each in expected
    ]

    dashboard.tab.js("document.querySelector('.funnel .dropped:enabled').click()")
    dashboard.until("document.querySelector('dialog tbody tr')")
    title = dashboard.text("dialog h2")
    people = downloaded(dashboard, title, "dialog")
    shown = dashboard.tab.js(
        "[...document.querySelectorAll('dialog tbody th a')]"
        ".map(({ pathname }) => pathname.split('/').at(-1))"
    )
    assert [row["Visitor"] for row in people] == shown


def test_retention_is_a_file(dashboard: Dashboard) -> None:
    dashboard.open("retention")
    rows = downloaded(dashboard, "Visitors who came again")
    expected = dashboard.ask("retention", period="day")
    assert [[row["First visit"], row["Visitors"]] for row in rows] == [
        [row["date"], str(row["visitors"])] for row in expected
    ]


def test_files_of_several_pages_and_of_hostile_names(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A name that a visitor chose stays guarded as the service writes it; no row is missing."""
    hostile = '=HYPERLINK("https://evil.example")\r\n-x, "y"'
    events = [an_event(hostile, at=f"{DAY}T10:00:00Z")]
    events += [a_view(f"/p/{n}", at=f"{DAY}T10:00:00Z") for n in range(PAGE_ROWS + 7)]
    with query_alone(tmp_path_factory.mktemp("files"), events) as tenant:
        for dashboard in signed_in(chromium, tenant):
            dashboard.open("events")
            [row] = downloaded(dashboard, "Events")
            assert row["Event"] == guarded(hostile) != hostile
            dashboard.open("list/top_pages")
            paths = [row["Pages"] for row in downloaded(dashboard, "Pages")]
            assert sorted(paths) == sorted(f"/p/{n}" for n in range(PAGE_ROWS + 7))
