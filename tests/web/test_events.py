"""Custom events: the list, and one event with its trend, its properties and filters on them."""

import pytest

from tests.flow.tenant import Tenant, at_ms
from tests.installation import eventually
from tests.web.dashboard import Dashboard, percent, shown

IS_PURCHASE = {"field": "name", "operator": "eq", "value": "purchase"}
FACTS = """(title) => { const card = [...document.querySelectorAll("main .card")].find(
  (card) => card.getAttribute("aria-label") === title);
  return card && Object.fromEntries([...card.querySelectorAll('.facts div')].map((fact) =>
    [fact.querySelector('dt').innerText, fact.querySelector('dd').innerText])); }"""

TOTALS = "[...document.querySelectorAll('main tfoot :is(th, td)')].map((e) => e.innerText)"
MEASURED = 30


def stored(tenant: Tenant, filters: list[dict[str, str]]) -> int:
    """How many events queries see."""
    rows = tenant.rows("custom_events", filters=filters)
    return sum(row["total_events"] for row in rows)


@pytest.fixture(scope="module")
def measured(shop: Tenant) -> Tenant:
    """Events of a known visit with as many different numbers: 0, 1.5, 3, and so on to 43.5."""
    items = [
        {
            "name": "measured",
            "anonymousId": "visitor-0",
            "sessionId": "session-0",
            "path": "https://shop.example/",
            "timestamp": at_ms(f"08:02:{number:02}"),
            "properties": {"seconds": 1.5 * number},
        }
        for number in range(MEASURED)
    ]
    assert shop.send(items).status == 200
    is_measured = [{**IS_PURCHASE, "value": "measured"}]
    eventually(lambda: stored(shop, is_measured) == MEASURED, 60)
    return shop


def test_events_are_those_of_the_api_and_one_opens(dashboard: Dashboard) -> None:
    dashboard.open("events", compare="none")
    expected = dashboard.ask("custom_events", order_by=[{"field": "total_events"}])
    rows = dashboard.rows("Events")
    fields = ("total_events", "unique_users", "unique_sessions")
    found = [[*row[:2], *row[3:5]] for row in rows]
    assert sorted(found) == sorted(shown(expected, "name", *fields))
    [sums] = shown(dashboard.ask("custom_events_summary"), *fields)
    assert dashboard.until(TOTALS) == ["Total", sums[0], "100%", *sums[1:], ""]
    shares = {row["name"]: 100 * row["total_events"] / int(sums[0]) for row in expected}
    assert {row[0]: row[2] for row in rows} == {
        name: percent(share) for name, share in shares.items()
    }

    dashboard.press("signup", "main")
    dashboard.until("location.pathname.endsWith('/events/signup')")
    dashboard.settle()
    plans = dashboard.ask(
        "custom_events_property_top_values",
        filters=[{**IS_PURCHASE, "value": "signup"}],
    )
    assert dashboard.rows("plan") == shown(plans, "property_value", "count")


def test_an_event_shows_its_totals(dashboard: Dashboard) -> None:
    dashboard.open("events/purchase", compare="none")
    facts = dashboard.until(f"({FACTS})('In this time range')")
    [row] = dashboard.ask("custom_events", filters=[IS_PURCHASE])
    fields = ("total_events", "unique_users", "unique_sessions")
    assert [facts["Events"], facts["Visitors"], facts["Visits"]] == shown([row], *fields)[0]


def test_a_search_without_a_result_says_what_was_searched(dashboard: Dashboard) -> None:
    for view in ("events", "visitors", "list/top_pages"):
        dashboard.open(view, q="no such thing")
        assert dashboard.text("main .empty") == (
            "Nothing in this time range contains “no such thing”."
        )


def test_an_event_shows_its_trend_and_the_latest(dashboard: Dashboard) -> None:
    dashboard.open("events/purchase", by="hourly")
    dashboard.press("Show as table")
    trend = dashboard.ask("custom_events_trends", granularity="hourly", filters=[IS_PURCHASE])
    assert [row[1] for row in dashboard.rows("purchase over time")] == [
        str(row["total_events"]) for row in trend
    ]
    latest = dashboard.rows("Latest events")
    assert len(latest) == sum(row["total_events"] for row in trend) > 0
    assert {row[1] for row in latest} == {"/signup"}


def test_numbers_are_a_distribution_and_a_value_filters(dashboard: Dashboard) -> None:
    dashboard.open("events/purchase")
    facts = dashboard.until(f"({FACTS})('total')")
    values = dashboard.ask(
        "custom_events_property_top_values",
        filters=[IS_PURCHASE],
    )
    totals = sorted(float(v["property_value"]) for v in values if v["property_key"] == "total")
    assert facts["Smallest"] == f"{totals[0]:g}"
    assert facts["Largest"] == f"{totals[-1]:g}"
    assert facts["Sum"] == f"{sum(totals):g}"

    dashboard.press(f"{totals[0]:g}", "section[aria-label=total]")
    dashboard.until("document.querySelector('.chip')")
    dashboard.settle()
    assert len(dashboard.rows("Latest events")) == 1
    assert dashboard.text(".chip-text") == f"Property total is {totals[0]:g}"


def test_many_numbers_are_a_histogram_and_a_bar_filters(
    dashboard: Dashboard, measured: Tenant
) -> None:
    dashboard.open("events/measured")
    dashboard.until("document.querySelector('section[aria-label=seconds] .bars')")
    dashboard.settle()
    bars = dashboard.rows("seconds")
    numbers = [1.5 * number for number in range(MEASURED)]
    assert [name for name, _ in bars] == [f"{at} to below {at + 5}" for at in range(0, 45, 5)]
    assert [int(count) for _, count in bars] == [
        sum(at <= number < at + 5 for number in numbers) for at in range(0, 45, 5)
    ]

    dashboard.press("40 to below 45", "section[aria-label=seconds]")
    dashboard.until("document.querySelector('.chip')")
    dashboard.settle()
    assert len(dashboard.rows("Latest events")) == int(bars[-1][1])
