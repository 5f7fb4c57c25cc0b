"""Visitors: the list as the API gives it, and visits, traits and timeline of one of them."""

import pytest

from tests.flow.tenant import Tenant, at_ms
from tests.installation import eventually
from tests.web.dashboard import Dashboard, shown

VISITOR = "visitor-7"
PROFILE = "customer-7"
IS_VISITOR = [{"field": "anonymous_id", "operator": "eq", "value": VISITOR}]
FACTS = """Object.fromEntries([...document.querySelectorAll('.facts div')].map((fact) =>
  [fact.querySelector('dt').innerText, fact.querySelector('dd').innerText]))"""
KINDS = "[...document.querySelectorAll('.entry')].map((entry) => entry.className)"


@pytest.fixture(scope="module")
def identified(shop: Tenant) -> Tenant:
    """One visitor has a profile with traits."""
    body = {
        "anonymousId": VISITOR,
        "profileId": PROFILE,
        "traits": {"name": "Ada", "plan": "pro"},
        "timestamp": at_ms("20:00:00"),
    }
    assert shop.send(body, "/identify").status == 200
    eventually(lambda: shop.rows("profile_detail", filters=IS_VISITOR)[0]["profile_id"], 60)
    return shop


def test_visitors_are_those_of_the_api(dashboard: Dashboard, identified: Tenant) -> None:
    dashboard.open("visitors", sort="page_views:desc")
    order = [{"field": "page_views", "direction": "desc"}]
    expected = dashboard.ask("profile_list", order_by=order, limit=25)
    rows = dashboard.rows("Visitors")
    numbers = ("session_count", "page_views", "custom_event_count")
    assert [row[3:6] for row in rows] == shown(expected, *numbers)
    assert dashboard.visitor_ids() == [row["visitor_id"] for row in expected]
    names = {row["visitor_id"]: name for row, [name, *_] in zip(expected, rows, strict=True)}
    assert names.pop(VISITOR) == "Ada"
    assert all(len(name.split()) == 2 for name in names.values()), names  # an alias


def test_a_visitor_opens_with_traits_visits_and_timeline(
    dashboard: Dashboard, identified: Tenant
) -> None:
    dashboard.open("visitors")
    dashboard.press("Ada", "main")
    dashboard.until(f"location.pathname.endsWith('/visitors/{VISITOR}')")
    dashboard.settle()
    facts = dashboard.until(FACTS)
    [detail] = dashboard.ask("profile_detail", filters=IS_VISITOR)
    assert facts["Profile"] == PROFILE
    assert facts["plan"] == "pro"
    assert facts["Page views"] == str(detail["total_pageviews"])

    timeline = dashboard.ask("visitor_timeline", filters=IS_VISITOR)
    assert dashboard.until(KINDS) == [f"entry {row['kind']}" for row in reversed(timeline)]
    visits = dashboard.ask("profile_sessions", filters=IS_VISITOR)
    assert [row[1] for row in dashboard.rows("Visits")] == [str(v["page_views"]) for v in visits]


def test_a_search_finds_a_visitor_by_name_and_by_id(
    dashboard: Dashboard, identified: Tenant
) -> None:
    dashboard.open("visitors")
    for text in ("Ada", PROFILE, VISITOR):
        dashboard.type_into("input[type=search]", text)
        dashboard.until(f"new URLSearchParams(location.search).get('q') === '{text}'")
        dashboard.settle()
        assert [row[0] for row in dashboard.rows("Visitors")] == ["Ada"], text
