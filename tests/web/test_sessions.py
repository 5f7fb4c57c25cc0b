"""Visits: the list as the API gives it, sorted, and what happened in one of them."""

from typing import Any

from tests.web.dashboard import Dashboard

SESSION = "session-3"
ENTRIES = "[...document.querySelectorAll('.entry-name')].map((name) => name.textContent)"


def visits(dashboard: Dashboard, direction: str) -> list[list[str]]:
    """Views and visitor of each visit in the order of the list."""
    order = [{"field": "page_views", "direction": direction}]
    rows: list[dict[str, Any]] = dashboard.ask("session_list", order_by=order, limit=25)
    return [[str(row["page_views"]), row["source"], row["visitor_id"]] for row in rows]


def shown_visits(dashboard: Dashboard) -> list[list[str]]:
    rows = dashboard.rows("Visits")
    return [[row[4], row[2], id_] for row, id_ in zip(rows, dashboard.visitor_ids(), strict=True)]


def plain(text: str) -> str:
    """The text without the marks that isolate names."""
    return text.replace("\u2068", "").replace("\u2069", "")


def test_visits_are_those_of_the_api_and_sort(dashboard: Dashboard) -> None:
    dashboard.open("sessions", sort="page_views:desc")
    assert shown_visits(dashboard) == visits(dashboard, "desc")

    dashboard.press("Page views\u00a0↓", "main")
    dashboard.until("location.search.includes('sort=page_views:asc')")
    dashboard.settle()
    assert shown_visits(dashboard) == visits(dashboard, "asc")


def test_a_visit_opens_with_its_events_and_errors_in_order(dashboard: Dashboard) -> None:
    dashboard.open("sessions")
    dashboard.until(f"document.querySelector('main a[href*=\"{SESSION}\"]')")
    dashboard.tab.js(f"document.querySelector('main a[href*=\"{SESSION}\"]').click()")
    dashboard.until(f"location.pathname.endsWith('/sessions/{SESSION}')")
    dashboard.until("document.querySelector('.entry.error')")
    entries: list[str] = [plain(entry) for entry in dashboard.until(ENTRIES)]

    filters = [{"field": "session_id", "operator": "eq", "value": SESSION}]
    events = dashboard.ask("session_events", filters=filters)
    views = [row["path"] for row in events if row["event_name"] == "screen_view"]
    assert [entry for entry in entries if entry.startswith("Viewed")] == [
        f"Viewed {path}" for path in views
    ]
    assert [entry for entry in entries if entry.startswith("Event")] == [
        "Event signup",
        "Event purchase",
    ]
    assert "Error: x is not a function" in entries[1:-1]
    assert len(entries) == len(events) + 1
    assert "plan: pro" in dashboard.text("ol.timeline")

    dashboard.tab.back()
    dashboard.until("location.pathname.endsWith('/sessions')")
    dashboard.tab.set_size(1440, 900)  # a smaller window has the navigation in a menu
    dashboard.open(f"sessions/{SESSION}")
    dashboard.press("Visits", "nav")
    dashboard.until("location.pathname.endsWith('/sessions')")
