"""Questions of an analyst: what happens on pages, what breaks there, and how fast they are."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from tests.flow.analyst.shop import LIVE, Shop, is_
from tests.flow.analyst.shop_traffic import FIRST_LIVE_DAY, LAST_DAY, Act
from tests.flow.analyst.truth import Truth, by, grouped, money, people
from tests.oracle.aggregates import average, median, percent, quantile, rounded
from tests.oracle.wall_clock import iso

LIVE_DAYS = (FIRST_LIVE_DAY, LAST_DAY)
VITALS = {"LCP": 2, "INP": 2, "CLS": 4}
"""The metrics, and the decimals of their unit."""


def values(acts: Sequence[Act], metric: str) -> list[Fraction]:
    """The measured values of one metric."""
    items = [act.item for act in acts if act.item["metricName"] == metric]
    return [Fraction(str(item["metricValue"])) for item in items]


def test_pages_with_the_most_errors(shop: Shop) -> None:
    rows = shop.rows("errors_by_page")

    broken = grouped(Truth(shop.acts).of("/errors"), lambda act: act.path)
    assert by("name", rows) == {
        path: {"errors": len(acts), "users": people(acts)} for path, acts in broken.items()
    }
    counts = [row["errors"] for row in rows]
    assert counts == sorted(counts, reverse=True)


def test_errors_since_a_release(shop: Shop) -> None:
    """From an instant on, by class: one without a class stays one without."""
    errors = Truth(shop.acts).of("/errors")
    release = errors[len(errors) // 3].ms
    rows = shop.rows("errors_by_type", startDate=iso(release))

    since = grouped([a for a in errors if a.ms >= release], lambda act: act.item["errorType"])
    assert by("name", rows) == {
        class_: {
            "count": len(acts),
            "users": people(acts),
            "sessions": len({act.visit.session for act in acts}),
        }
        for class_, acts in since.items()
    }
    assert None in since


def test_errors_by_the_channel_of_their_visit(shop: Shop) -> None:
    count = {"aggregate": "count", "field": "*", "alias": "n"}
    rows = shop.custom({"table": "errors", "selects": [count], "groupBy": ["visit.channel"]})

    errors = Truth(shop.acts).of("/errors")
    assert {row["visit.channel"]: row["n"] for row in rows} == Counter(
        act.visit.source.channel for act in errors
    )


def test_vitals_p75_by_device(shop: Shop) -> None:
    standard = by("name", shop.rows("web_vitals_by_device"))
    custom = shop.custom(
        {
            "table": "vitals",
            "selects": [{"aggregate": "p75", "field": "metric_value", "alias": "p75"}],
            "groupBy": ["device_type", "metric_name"],
        }
    )

    measured = grouped(Truth(shop.acts).of("/vitals"), lambda act: act.visit.device.type)
    for device, acts in measured.items():
        row = standard[device]
        assert row["p75_lcp"] == quantile(values(acts, "LCP"), 75, 4)
        assert row["p75_inp"] == quantile(values(acts, "INP"), 75, 4)
        assert row["p75_cls"] == quantile(values(acts, "CLS"), 75, 4)
        assert (row["measurements"], row["visitors"]) == (len(acts), people(acts))
    assert {(row["device_type"], row["metric_name"]): row["p75"] for row in custom} == {
        (device, metric): quantile(values(acts, metric), 75, 6)
        for device, acts in measured.items()
        for metric in VITALS
    }


def test_vitals_have_the_country_of_the_browsers_time_zone(shop: Shop) -> None:
    rows = shop.rows("web_vitals_by_country")

    measured = grouped(Truth(shop.acts).of("/vitals"), lambda act: act.visit.country)
    assert {row["name"]: row["measurements"] for row in rows} == {
        country: len(acts) for country, acts in measured.items()
    }


def test_outbound_clicks_by_domain_and_link(shop: Shop) -> None:
    links = shop.rows("outbound_links")
    domains = shop.rows("outbound_domains")

    clicks = Truth(shop.acts).named("outbound_click")
    assert {(row["href"], row["text"]): row["total_clicks"] for row in links} == Counter(
        (act.item["href"], act.item["text"]) for act in clicks
    )
    assert {row["domain"]: (row["total_clicks"], row["unique_users"]) for row in domains} == {
        domain: (len(acts), people(acts))
        for domain, acts in grouped(clicks, lambda a: a.item["href"].split("/")[2]).items()
    }


def test_downloads_missing_pages_and_site_search(shop: Shop) -> None:
    """As events with properties, whichever page they happened on."""
    counts = {row["name"]: row["total_events"] for row in shop.rows("custom_events")}
    searches = shop.custom(
        {
            "table": "events",
            "selects": [{"aggregate": "count", "field": "*", "alias": "n"}],
            "filters": [is_("name", "search")],
            "groupBy": ["properties.query"],
        }
    )

    truth = Truth(shop.acts)
    for name in ("file_download", "not_found", "search"):
        assert counts[name] == len(truth.named(name))
    assert {row["properties.query"]: row["n"] for row in searches} == Counter(
        act.properties["query"] for act in truth.named("search")
    )


def test_time_on_page_and_scroll_depth(shop: Shop) -> None:
    rows = shop.metrics("time_on_page", "scroll_depth", by=["path"])

    exits = grouped(Truth(shop.acts).named("page_exit"), lambda act: act.path)
    assert by("path", rows) == {
        path: {
            "time_on_page": average([Fraction(str(a.item["time_on_page"])) for a in acts]),
            "scroll_depth": average([a.item["scroll_depth"] for a in acts]),
        }
        for path, acts in exits.items()
    }


def test_rage_clicks_and_abandoned_forms(shop: Shop) -> None:
    forms = shop.rows("form_abandonment_by_page")
    rage = shop.rows("frustration_by_page")

    used = grouped(Truth(shop.acts).of("/engagement"), lambda act: act.path)
    wanted = {}
    for path, acts in used.items():
        begun = [act.item for act in acts if act.item["formFieldCount"]]
        left = sum(item["formSubmitCount"] == 0 for item in begun)
        if begun:
            wanted[path] = (len(begun), len(begun) - left, percent(left, len(begun)))
    assert {
        row["name"]: (row["form_starts"], row["form_submits"], row["abandonment_rate"])
        for row in forms
    } == wanted
    assert {row["name"]: (row["page_views"], row["rage_click_rate"]) for row in rage} == {
        path: (len(acts), percent(sum(a.item["rageClickCount"] > 0 for a in acts), len(acts)))
        for path, acts in used.items()
        if len(acts) >= 5
    }


def test_load_times_by_page(shop: Shop) -> None:
    rows = shop.rows("slow_pages", **LIVE)

    loaded = grouped(Truth(shop.acts, *LIVE_DAYS).named("page_exit"), lambda act: act.path)
    assert {
        row["name"]: (row["pageviews"], row["p50_load_time"], row["avg_load_time"]) for row in rows
    } == {
        path: (
            len(acts),
            rounded(median([a.item["load_time"] for a in acts])),
            average([a.item["load_time"] for a in acts]),
        )
        for path, acts in loaded.items()
    }


def test_properties_of_an_event(shop: Shop) -> None:
    rows = shop.rows("custom_events_property_top_values", limit=10_000)

    found = {
        (row["event_name"], row["property_key"], row["property_value"]): row["count"]
        for row in rows
    }
    wanted = Counter(
        (act.name, key, value if isinstance(value, str) else str(value))
        for act in Truth(shop.acts).events
        for key, value in act.properties.items()
    )
    assert found == wanted


def test_revenue_by_currency_and_coupon(shop: Shop) -> None:
    groups = ["properties.currency", "properties.coupon"]
    rows = shop.custom(
        {
            "table": "events",
            "selects": [{"aggregate": "sum", "field": "properties.total", "alias": "revenue"}],
            "filters": [is_("name", "purchase")],
            "groupBy": groups,
        }
    )

    sold = grouped(
        Truth(shop.acts).named("purchase"),
        lambda act: (act.properties["currency"], act.properties.get("coupon")),
    )
    assert {tuple(row[name] for name in groups): row["revenue"] for row in rows} == {
        key: money(acts) for key, acts in sold.items()
    }


def test_revenue_of_a_saved_money_property_by_channel(shop: Shop) -> None:
    """Each currency by itself."""
    record = {"event": "purchase", "property": "properties.total"}
    shop.save("money", {"name": "sales", **record, "currencyProperty": "properties.currency"})
    terms = [{"metric": "revenue", "currency": c, "as": c} for c in ("EUR", "USD")]
    rows = shop.metrics(*terms, by=["visit.channel"])

    sold = Truth(shop.acts).named("purchase")
    for row in rows:
        own = [act for act in sold if act.visit.source.channel == row["visit.channel"]]
        for currency in ("EUR", "USD"):
            paid = [act for act in own if act.properties["currency"] == currency]
            assert row[currency] == (money(paid) or 0)
    assert {act.visit.source.channel for act in sold} <= {row["visit.channel"] for row in rows}
