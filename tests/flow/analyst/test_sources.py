"""Questions of an analyst: where visits come from, and what each source is worth."""

from datetime import timedelta
from typing import Any

import pytest

from tests.flow.analyst.shop import PURCHASE, Shop, is_
from tests.flow.analyst.shop_traffic import GOOGLEBOT, SOURCES, TODAY
from tests.flow.analyst.truth import Truth, by, grouped, local, money, people, quality
from tests.flow.tenant import CHROME_USER_AGENT
from tests.http_client import call
from tests.installation import eventually
from tests.oracle.aggregates import percent

CHANNELS = sorted({source.channel for source in SOURCES})
CAMPAIGNS = sorted({source.utm_campaign for source in SOURCES if source.utm_campaign})
REVENUE = {"metric": "sum", "property": "properties.total", "event": "purchase", "as": "revenue"}
QUALITY = ("visits", "bounce_rate", "visit_duration", "median_visit_duration", "views_per_visit")


def views_by_channel(truth: Truth) -> dict[str, dict[str, int]]:
    """Page views and visitors of each channel."""
    groups = grouped(truth.views, lambda act: act.visit.source.channel)
    return {
        channel: {"pageviews": len(acts), "visitors": people(acts)}
        for channel, acts in groups.items()
    }


def test_traffic_by_channel_compared_with_the_month_before(shop: Shop) -> None:
    this_month = TODAY.replace(day=1)
    last = this_month - timedelta(days=1)
    before = last.replace(day=1) - timedelta(days=1)

    entry = shop.entry("channels", preset="last_month", compare="previous_period")

    now = views_by_channel(Truth(shop.acts, last.replace(day=1), last))
    then = views_by_channel(Truth(shop.acts, before.replace(day=1), before))
    assert (entry["comparison"]["start"], entry["comparison"]["end"]) == (
        f"{before.replace(day=1)}T00:00:00.000Z",
        f"{last.replace(day=1)}T00:00:00.000Z",
    )
    for row, compared in zip(entry["data"], entry["comparison"]["rows"], strict=True):
        assert {name: row[name] for name in ("pageviews", "visitors")} == now.pop(row["name"])
        previous = compared["previous"] or {"pageviews": 0, "visitors": 0}
        assert {n: previous[n] for n in ("pageviews", "visitors")} == then.get(
            row["name"], {"pageviews": 0, "visitors": 0}
        )
        change = row["pageviews"] - previous["pageviews"]
        assert compared["change"]["pageviews"] == change
    assert now == {}


def test_landing_pages_with_their_bounce_rate(shop: Shop) -> None:
    rows = shop.metrics("visits", "bounce_rate", by=["visit.entry_page"])

    landed = grouped(Truth(shop.acts).visits, lambda seen: seen.visit.entry_page)
    assert by("visit.entry_page", rows) == {
        page: {name: quality(visits)[name] for name in ("visits", "bounce_rate")}
        for page, visits in landed.items()
    }


def test_campaigns_with_visits_bounces_conversions_and_revenue(shop: Shop) -> None:
    rows = shop.metrics(
        "visits",
        "bounce_rate",
        "conversions",
        "conversion_rate",
        REVENUE,
        by=["visit.utm_campaign"],
        goals=[PURCHASE],
    )

    truth = Truth(shop.acts)
    wanted = {}
    for campaign in (*CAMPAIGNS, None):
        events = [act for act in truth.events if act.visit.source.utm_campaign == campaign]
        bought = [act for act in events if act.name == "purchase"]
        came = [seen for seen in truth.visits if seen.visit.source.utm_campaign == campaign]
        wanted[campaign] = {
            "visits": len(came),
            "bounce_rate": quality(came)["bounce_rate"],
            "conversions": len(bought),
            "conversion_rate": percent(people(bought), people(events)),
            "revenue": money(bought),
        }
    assert by("visit.utm_campaign", rows) == wanted
    assert sum(row["conversions"] for row in rows) == len(truth.named("purchase"))


def test_purchases_by_campaign_in_a_custom_query(shop: Shop) -> None:
    rows = shop.custom(
        {
            "table": "events",
            "selects": [
                {"aggregate": "count", "field": "*", "alias": "purchases"},
                {"aggregate": "sum", "field": "properties.total", "alias": "revenue"},
            ],
            "filters": [is_("name", "purchase")],
            "groupBy": ["utm_campaign", "channel"],
        }
    )

    bought = grouped(
        Truth(shop.acts).named("purchase"),
        lambda act: (act.visit.source.utm_campaign, act.visit.source.channel),
    )
    assert {
        (row["utm_campaign"], row["channel"]): (row["purchases"], row["revenue"]) for row in rows
    } == {group: (len(acts), money(acts)) for group, acts in bought.items()}


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_summary_of_one_channel(shop: Shop, channel: str) -> None:
    [found] = shop.rows("summary", filters=[is_("channel", channel)])

    truth = Truth(shop.acts)
    came = [seen for seen in truth.visits if seen.visit.source.channel == channel]
    events = [act for act in truth.events if act.visit.source.channel == channel]
    wanted = quality(came)
    assert found == {
        "pageviews": sum(act.is_view for act in events),
        "unique_visitors": people(events),
        "sessions": len(came),
        "bounce_rate": wanted["bounce_rate"],
        "median_session_duration": wanted["median_visit_duration"],
        "pages_per_session": wanted["views_per_visit"],
        "total_events": len(events),
    }


def test_bounce_rate_and_duration_by_any_dimension(shop: Shop) -> None:
    dimensions = {
        "visit.country": lambda seen: seen.visit.country,
        "visit.device_type": lambda seen: seen.visit.device.type,
        "visit.browser_name": lambda seen: seen.visit.device.browser,
        "visit.referrer_name": lambda seen: seen.visit.source.referrer_name,
        "visit.exit_page": lambda seen: seen.visit.exit_page,
    }
    visits = Truth(shop.acts).visits
    for dimension, key in dimensions.items():
        rows = shop.metrics(*QUALITY, by=[dimension])
        wanted = {value: quality(seen) for value, seen in grouped(visits, key).items()}
        assert by(dimension, rows) == wanted, dimension


def test_visits_by_channel_and_device_and_week(shop: Shop) -> None:
    dimensions = ["visit.channel", "visit.device_type", "time:week"]
    rows = shop.metrics("visits", "page_views", by=dimensions)

    def week(ms: int) -> str:
        day = local(ms).date()
        return str(day - timedelta(days=day.weekday()))

    truth = Truth(shop.acts)
    visits = grouped(
        truth.visits,
        lambda s: (s.visit.source.channel, s.visit.device.type, week(s.views[0].ms)),
    )
    views = grouped(
        truth.views, lambda a: (a.visit.source.channel, a.visit.device.type, week(a.ms))
    )
    found = {tuple(row[name] for name in dimensions): row for row in rows}
    assert {key: row["visits"] for key, row in found.items() if row["visits"]} == {
        key: len(group) for key, group in visits.items()
    }
    assert {key: row["page_views"] for key, row in found.items() if row["page_views"]} == {
        key: len(group) for key, group in views.items()
    }


def test_the_bounce_rate_of_one_page(shop: Shop) -> None:
    """Of visits that saw it, and of those that landed there."""
    [saw] = shop.metrics("visits", "bounce_rate", filters=[is_("path", "/pricing")])
    [landed] = shop.metrics("visits", "bounce_rate", filters=[is_("visit.entry_page", "/pricing")])
    [summary] = shop.rows("summary", filters=[is_("path", "/pricing")])

    visits = Truth(shop.acts).visits
    seen = quality([one for one in visits if any(a.path == "/pricing" for a in one.events)])
    came = quality([one for one in visits if one.visit.entry_page == "/pricing"])
    assert saw == {name: seen[name] for name in ("visits", "bounce_rate")}
    assert landed == {name: came[name] for name in ("visits", "bounce_rate")}
    assert (summary["sessions"], summary["bounce_rate"]) == (seen["visits"], seen["bounce_rate"])
    assert saw != landed


def test_pages_seen_by_visits_from_google(shop: Shop) -> None:
    google = [is_("visit.referrer_name", "Google")]
    rows = shop.rows("top_pages", filters=google)

    views = [a for a in Truth(shop.acts).views if a.visit.source.referrer_name == "Google"]
    assert {row["name"]: (row["pageviews"], row["visitors"]) for row in rows} == {
        path: (len(acts), people(acts)) for path, acts in grouped(views, lambda a: a.path).items()
    }


def test_conversions_by_the_first_source_of_their_visit(shop: Shop) -> None:
    rows = shop.metrics("conversions", by=["visit.channel", "visit.utm_source"], goals=[PURCHASE])

    bought = grouped(
        Truth(shop.acts).named("purchase"),
        lambda act: (act.visit.source.channel, act.visit.source.utm_source),
    )
    assert {
        (row["visit.channel"], row["visit.utm_source"]): row["conversions"]
        for row in rows
        if row["conversions"]
    } == {group: len(acts) for group, acts in bought.items()}


def test_campaign_links_and_their_clicks(shop: Shop) -> None:
    tenant: Any = shop.tenant
    url = f"{tenant.stack.collect_url}/l/{tenant.link.slug}"
    for agent in (CHROME_USER_AGENT, CHROME_USER_AGENT, GOOGLEBOT):
        assert call("GET", url, headers={"user-agent": agent}).status == 302
    today = {"preset": "last_7d", "startDate": None, "endDate": None, "link": True}

    def total(**more: object) -> object:
        return tenant.rows("link_total_clicks", **today, **more)[0]["total"]

    eventually(lambda: total(include_bots=True) == 3)
    assert total() == 2
