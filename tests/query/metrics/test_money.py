"""Revenue of saved money properties: one currency each, never added over currencies."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import an_event
from tests.query.metrics_queries import ask, error, rows, save, where
from tests.query.query_service import InProcessService, reused, start_service


def a_purchase(name: str, properties: str, **more: Any) -> Any:
    return an_event(name, properties=properties, **more)


@reused
def service(tmp_path: Path) -> InProcessService:
    """Purchases in euros and dollars, subscriptions in euros."""
    service = start_service(tmp_path)
    service.holds(
        a_purchase("purchase", '{"total": 10.1, "currency": "eur"}', channel="Email"),
        a_purchase("purchase", '{"total": 20.2, "currency": "EUR"}', channel="Direct"),
        a_purchase("purchase", '{"total": 5, "currency": "USD"}', channel="Direct"),
        a_purchase("purchase", '{"total": 7}'),
        a_purchase("purchase", '{"total": "9", "currency": "EUR"}'),
        a_purchase("purchase", '{"total": 1e308, "currency": "EUR"}'),
        a_purchase("subscription", '{"amount": 100, "total": 1}', channel="Email"),
        a_purchase("refund", '{"total": 1000, "currency": "EUR"}'),
    )
    return service


def save_fees(service: InProcessService) -> None:
    save(
        service,
        "money",
        name="Fees",
        event="subscription",
        property="properties.amount",
        currency="EUR",
    )


def both(service: InProcessService) -> None:
    save(
        service,
        "money",
        name="Sales",
        event="purchase",
        property="properties.total",
        currencyProperty="properties.currency",
    )
    save_fees(service)


def test_sums_are_of_one_currency(service: InProcessService) -> None:
    both(service)

    found = rows(
        service,
        {"metric": "revenue", "currency": "eur", "as": "euros"},
        {"metric": "revenue", "currency": "USD", "as": "dollars"},
        {"metric": "revenue", "currency": "CHF", "as": "francs"},
        {"metric": "revenue", "currency": "EUR", "money": "Sales", "as": "sales"},
        {"metric": "revenue", "money": "Fees", "as": "fees"},
    )

    # 1e308 is out of range
    assert found == [{"euros": 139.3, "dollars": 5.0, "francs": 0.0, "sales": 39.3, "fees": 100.0}]


def test_rows_may_be_grouped_by_currency(service: InProcessService) -> None:
    both(service)

    found = rows(service, "revenue", "events", dimensions=["currency"])
    sales = rows(service, {"metric": "revenue", "money": "Sales"}, dimensions=["currency"])

    assert found == [
        {"currency": "EUR", "revenue": 139.3, "events": 4},
        {"currency": None, "revenue": 7.0, "events": 3},
        {"currency": "USD", "revenue": 5.0, "events": 1},
    ]
    assert [row["revenue"] for row in sales] == [39.3, 7.0, 5.0]


def test_orders_and_their_mean_are_of_one_currency(service: InProcessService) -> None:
    both(service)
    metrics = ("revenue", "orders", "average_order_value")

    euros = rows(service, *({"metric": name, "currency": "EUR"} for name in metrics))
    francs = rows(service, *({"metric": name, "currency": "CHF"} for name in metrics))
    found = rows(service, *metrics, dimensions=["currency"])
    sales = {"metric": "average_order_value", "money": "Sales", "currency": "EUR", "as": "mean"}

    assert euros == [dict(zip(metrics, (139.3, 4, 34.825), strict=True))]
    assert francs == [{"revenue": 0.0, "orders": 0, "average_order_value": None}]
    assert [tuple(row.values()) for row in found] == [
        ("EUR", 139.3, 4, 34.825),
        (None, 7.0, 1, 7.0),
        ("USD", 5.0, 1, 5.0),
    ]
    assert rows(service, sales) == [{"mean": 13.1}]  # 39.3 of three orders


def test_the_only_currency_need_not_be_named(service: InProcessService) -> None:
    save_fees(service)

    found = rows(service, "revenue", dimensions=["event.channel"], limit=1)

    assert found == [{"event.channel": "Email", "revenue": 100.0}]


def test_of_nothing_revenue_is_0(service: InProcessService) -> None:
    both(service)
    body = {"startDate": "2026-11-10", "endDate": "2026-11-11", "compare": "previous_period"}
    dollars = {"metric": "revenue", "currency": "USD"}

    reply = ask(service, dollars, dimensions=["time:day"], **body).json

    assert [row["revenue"] for row in reply["data"]] == [5.0, 0.0]
    assert reply["comparison"]["rows"][0] == {
        "previous": {"time:day": "2026-11-08", "revenue": 0.0},
        "change": {"revenue": 5.0},
        "changePercent": {"revenue": None},
    }


def test_a_definition_names_the_currency(service: InProcessService) -> None:
    both(service)

    meta = ask(service, {"metric": "revenue", "currency": "EUR"}, definitions=True).json["meta"]

    assert meta["definitions"] == {"revenue": "sum of money properties in EUR"}


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (
            "revenue",
            "'metrics[0]': amounts may be in several currencies, which are not added; give "
            "'currency', as in {'metric': 'revenue', 'currency': 'EUR'}, or the dimension "
            "'currency'",
        ),
        (
            {"metric": "revenue", "currency": "Euro"},
            "'metrics[0].currency' is 'Euro'; give a code of ISO 4217, such as EUR",
        ),
        (
            {"metric": "revenue", "money": "Fees", "currency": "USD"},
            "'metrics[0].currency' is 'USD'; the amounts are in EUR",
        ),
        (
            {"metric": "revenue", "money": "Sale"},
            "Unknown money property 'Sale' in 'metrics[0].money'; did you mean 'Sales'?",
        ),
        (
            {"metric": "revenue", "goal": "x"},
            "'metrics[0].goal' does not apply to the metric 'revenue'",
        ),
        (
            {"metric": "visits", "currency": "EUR"},
            "'metrics[0].currency' does not apply to the metric 'visits'",
        ),
    ],
)
def test_a_wrong_term_is_rejected(service: InProcessService, term: Any, message: str) -> None:
    both(service)

    assert error(service, term) == message


def test_amounts_in_texts_are_read_or_told(service: InProcessService) -> None:
    texts = ("1.299,00 \u20ac", "0.50 \u20ac", "1,299", "free", "")
    service.holds(*(a_purchase("order", json.dumps({"price": text})) for text in texts))
    service.holds(a_purchase("order", '{"price": null}'), a_purchase("order", "{}"))
    save(
        service, "money", name="Orders", event="order", property="properties.price", currency="EUR"
    )
    save(service, "goals", name="Order", event="order", valueProperty="properties.price")

    meta = ask(service, "revenue").json["meta"]

    assert rows(service, "revenue") == [{"revenue": 1299.5}]
    assert meta["warnings"] == [
        {
            "code": "AMOUNTS_LEFT_OUT",
            "message": "3 amounts of 'Orders' are left out, as they cannot be read in one way as a "
            "number, such as 'free'; send numbers, such as 1299.5",
            "count": 3,
        }
    ]
    [goals] = service.query("goals").json["data"]
    assert [row["value"] for row in goals["data"]] == [1299.5]
    assert [each["count"] for each in goals["meta"]["warnings"]] == [3]


def test_values_of_goals_in_several_currencies_are_not_added(service: InProcessService) -> None:
    both(service)
    # its currency is that of the saved money property; of another property, the one beside it
    goal = {"event": "purchase", "value": "properties.total"}
    service.holds(
        a_purchase("sale", '{"total": 4, "unit": "EUR"}'),
        a_purchase("sale", '{"total": 6, "unit": "USD"}'),
    )
    sale = {"event": "sale", "value": "properties.total"}
    value = {"metric": "conversion_value", "goal": "purchase"}

    reply = service.query({"name": "goals", "goals": [goal, sale]}).json["data"][0]
    by_currency = {"name": "goals", "goals": [goal], "breakdown": "properties.currency"}
    attributed = service.rows({"name": "attribution", "goal": goal})

    assert [row["value"] for row in reply["data"]] == [None, 10.0]
    assert reply["meta"]["warnings"][-1] == {
        "code": "SEVERAL_CURRENCIES",
        "message": "amounts of 'purchase' are in 3 currencies (those without one count as "
        "another), which are not added; save a money property and ask for 'revenue' of one "
        "currency, or filter by the currency",
        "count": 3,
    }
    split = {row["breakdown"]: row["value"] for row in service.rows(by_currency)}
    assert split == {"EUR": 29.2, "eur": 10.1, None: 7.0, "USD": 5.0}
    assert {row["value"] for row in attributed} == {None}
    meta = ask(service, value, goals=[goal]).json
    assert (meta["data"], meta["meta"]["warnings"]) == (
        [{"conversion_value": None}],
        reply["meta"]["warnings"],
    )
    dollars = [where("properties.currency", "USD")]
    assert rows(service, value, goals=[goal], filters=dollars) == [{"conversion_value": 5.0}]
    named = service.rows({"name": "goals", "goals": [{**sale, "currency": "properties.unit"}]})
    assert [row["value"] for row in named] == [None]
    others = [{**where("properties.currency", "USD"), "operator": "ne"}]
    euros_and_none = service.rows({"name": "goals", "goals": [{**goal, "filters": others}]})
    assert [row["value"] for row in euros_and_none] == [None]


def test_two_properties_of_one_event_are_not_added(service: InProcessService) -> None:
    money = {"event": "purchase", "currency": "EUR"}
    save(service, "money", name="Total", property="properties.total", **money)
    save(service, "money", name="Tax", property="properties.tax", **money)

    assert error(service, "revenue") == (
        "'metrics[0]': the money properties 'Total' and 'Tax' are both of the event 'purchase', "
        "which would count twice; name one by 'money'"
    )
    assert rows(service, {"metric": "revenue", "money": "Total"}) == [{"revenue": 51.3}]


def test_money_of_another_website_is_not_known(service: InProcessService) -> None:
    save(
        service,
        "money",
        website="blog",
        name="Fees",
        event="subscription",
        property="properties.amount",
        currency="EUR",
    )

    assert error(service, "revenue") == (
        "'metrics[0]' needs a money property of the website; POST /v1/money saves one"
    )
    assert error(service, "visits", dimensions=["currency"]) == (
        "'dimensions' needs a money property of the website; POST /v1/money saves one"
    )


def test_each_website_has_its_own_money_properties(service: InProcessService) -> None:
    service.holds(a_purchase("order", '{"t": 3, "price": 40}'))
    service.holds(a_purchase("order", '{"t": 5, "price": 60}', website="blog"))
    fields = {"event": "order", "currency": "EUR"}
    save(service, "money", name="Orders", property="properties.t", **fields)
    save(service, "money", website="blog", name="Orders", property="properties.price", **fields)
    revenue = {"metric": "revenue"}

    assert rows(service, revenue) == [{"revenue": 3}]
    assert rows(service, revenue, website="blog") == [{"revenue": 60}]
    assert rows(service, revenue, website="shop,blog") == [{"revenue": 63}]
    assert "Several of the websites have a 'Orders'; give its id" in error(
        service, {**revenue, "money": "Orders"}, website="shop,blog"
    )


def test_a_formula_over_money_has_the_warnings_of_the_money_once(service: InProcessService) -> None:
    both(service)
    euros = {"metric": "revenue", "currency": "EUR", "as": "euros"}
    each = {"metric": "formula", "formula": "euros / 4", "as": "each"}

    alone, reply = ask(service, euros).json, ask(service, euros, each).json

    assert reply["data"] == [{"euros": 139.3, "each": 34.825}]
    assert reply["meta"]["warnings"] == alone["meta"]["warnings"] != []
