"""Revenue, orders and their mean on the overview and in lists: worked out by hand, by currency."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import Stored, a_view, an_event
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.test_accessibility import violations

TILES = """Object.fromEntries([...document.querySelectorAll(".revenue .total")].map((total) =>
  [".total-label", ".total-value"].map((part) => total.querySelector(part).innerText)))"""


def an_order(visitor: str, clock: str, properties: dict[str, Any]) -> Stored:
    at = f"{DAY}T{clock}Z"
    who = {"visitor": visitor, "session": f"s-{visitor}", "at": at}
    return an_event("purchase", properties=json.dumps(properties), path="/thanks", **who)


def a_visit(visitor: str, source: str | None) -> Stored:
    at = f"{DAY}T08:00:00Z"
    return a_view("/", visitor=visitor, session=f"s-{visitor}", at=at, referrer_name=source)


ROWS = (
    a_visit("ann", "Google"),
    a_visit("bob", None),
    a_visit("eve", "GitHub"),
    an_order("ann", "08:10:00", {"total": 10.1, "currency": "EUR"}),
    an_order("ann", "08:20:00", {"total": "20,20", "currency": "eur"}),
    an_order("bob", "08:30:00", {"total": 12000, "currency": "EUR"}),
    an_order("bob", "08:31:00", {"total": 5, "currency": "USD"}),
    an_order("eve", "08:40:00", {"total": 7}),
)


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """Three orders in euros, one in dollars, one without a currency."""
    with query_alone(tmp_path_factory.mktemp("paid"), ROWS) as tenant:
        body = {
            "name": "Orders",
            "event": "purchase",
            "property": "properties.total",
            "currencyProperty": "properties.currency",
        }
        url = f"{tenant.stack.query_url}/v1/money?website_id={tenant.website.id}"
        headers = {"authorization": f"Bearer {tenant.key}"}
        assert call("POST", url, body, headers).status == 201
        yield tenant


@pytest.fixture
def page(chromium: Chromium, paid: Tenant) -> Iterator[Dashboard]:
    yield from signed_in(chromium, paid)


def test_totals_are_of_one_currency_and_never_added(page: Dashboard) -> None:
    page.open("overview")
    tiles = page.until(f"document.querySelector('.revenue .total') && {TILES}")
    # 10.10 + 20.20 + 12,000 = 12,030.30 in three orders
    assert tiles == {"Revenue": "€12K", "Orders": "3", "Average order": "€4,010.10"}
    exact = "document.querySelector('.revenue .total-value').title"
    assert page.tab.js(exact) == "€12,030.30"
    assert "One order has no currency" in page.text(".revenue p")
    assert violations(page) == []

    page.press("USD", ".revenue")
    page.until("location.search.includes('currency=USD')")
    page.until(f"JSON.stringify({TILES}).includes('$')")
    assert page.tab.js(TILES) == {"Revenue": "$5.00", "Orders": "1", "Average order": "$5.00"}


def test_a_total_of_money_is_drawn(page: Dashboard) -> None:
    page.open("overview", by="hourly")
    page.until("document.querySelector('.revenue .total')")
    page.tab.js("document.querySelector('.revenue .total button').click()")
    page.until("location.search.includes('metric=revenue')")
    page.settle()
    page.press("Show as table", "main")
    values = [row[1] for row in page.rows("Overview")]
    assert values[8] == "€12,030.30"
    assert set(values[:8] + values[9:]) == {"€0.00"}


def test_lists_have_the_revenue_of_each_currency(page: Dashboard) -> None:
    page.open("list/traffic_sources", compare="none")
    page.until("document.querySelector('main thead')?.innerText.includes('Revenue (EUR)')")
    page.until("!document.querySelector('main tbody').innerText.includes('…')")
    revenue = {row[0]: row[-2:] for row in page.rows("Referrers")}
    assert revenue == {
        "Google": ["€30.30", "$0.00"],
        "Direct": ["€12,000.00", "$5.00"],
        "GitHub": ["€0.00", "$0.00"],
    }


def test_an_amount_is_saved_in_set_up(page: Dashboard) -> None:
    page.open("setup", part="money")
    assert page.rows("Money")[0][:4] == [
        "Orders",
        "purchase",
        "properties.total",
        "properties.currency",
    ]
    page.press("Add an amount")
    for name, text in (("name", "Fees"), ("event", "fee"), ("property", "properties.amount")):
        page.type_into(f"dialog input[name={name}]", text)
    page.type_into("dialog input[name=currency]", "chf")
    page.press("Save", "dialog form")
    page.until("document.querySelector('main')?.innerText.includes('CHF')")
    page.press("Delete Fees", "main")
    page.press("Delete", "dialog form")
    page.until("!document.querySelector('main').innerText.includes('CHF')")
