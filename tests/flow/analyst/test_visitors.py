"""Questions of an analyst: who the visitors are, when they come, and what one of them did."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.flow.analyst.shop import BOTS, LIVE, Shop, is_
from tests.flow.analyst.shop_traffic import FIRST_LIVE_DAY, LAST_DAY
from tests.flow.analyst.truth import Truth, grouped, local, people
from tests.oracle.wall_clock import iso

ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns")


def test_new_and_returning_visitors(shop: Shop) -> None:
    rows = shop.metrics("visitors", "visits", by=["visitor.is_new"], **LIVE)

    truth = Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY)
    before = {act.visit.visitor for act in truth.all if act.ms < truth.start_ms}
    wanted = []
    for is_new in (True, False):
        came = {who for who in truth.visitors if (who not in before) is is_new}
        visits = sum(seen.visit.visitor in came for seen in truth.visits)
        wanted.append({"visitor.is_new": is_new, "visitors": len(came), "visits": visits})
    assert sorted(rows, key=lambda row: not row["visitor.is_new"]) == wanted
    assert all(row["visitors"] for row in wanted)


BUCKETS: dict[str, Callable[[int], str]] = {
    "daily": lambda ms: str(local(ms).date()),
    "weekly": lambda ms: str(local(ms).date() - timedelta(days=local(ms).weekday())),
    "monthly": lambda ms: str(local(ms).date().replace(day=1)),
}


def test_visitors_of_the_live_days_by_the_week_in_which_they_were_first_seen(shop: Shop) -> None:
    """Some of them in the imported history."""
    by = "visitor.first_seen:week"
    rows = shop.metrics("visitors", "new_visitors", "returning_visitors", by=[by], **LIVE)

    truth = Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY)
    wanted: dict[str, dict[str, int]] = {}
    for visitor in truth.visitors:
        mine = [a.ms for a in truth.all if a.route == "/track" and a.visit.visitor == visitor]
        is_new = min(mine) >= truth.start_ms
        week = wanted.setdefault(BUCKETS["weekly"](min(mine)), {"new": 0, "returning": 0})
        week["new" if is_new else "returning"] += 1
    found = {
        row[by]: {"new": row["new_visitors"], "returning": row["returning_visitors"]}
        for row in rows
    }
    assert found == wanted
    assert sum(row["visitors"] for row in rows) == len(truth.visitors)
    assert len(found) > 2


@pytest.mark.parametrize("granularity", BUCKETS)
def test_active_visitors_by_day_week_and_month(shop: Shop, granularity: str) -> None:
    rows = shop.rows("events_by_date", granularity=granularity)

    came = grouped(Truth(shop.acts).events, lambda act: BUCKETS[granularity](act.ms))
    assert {row["date"]: row["visitors"] for row in rows if row["visitors"]} == {
        day: people(acts) for day, acts in came.items()
    }


@pytest.mark.parametrize("zone", ZONES)
def test_hour_of_day_and_weekday(shop: Shop, zone: str) -> None:
    dimensions = ["time:day_of_week", "time:hour_of_day"]
    rows = shop.metrics("page_views", "visits", by=dimensions, timezone=zone)

    truth = Truth(shop.acts, zone=zone)

    def slot(ms: int) -> tuple[int, int]:
        return local(ms, zone).isoweekday(), local(ms, zone).hour

    views = grouped(truth.views, lambda act: slot(act.ms))
    visits = grouped(truth.visits, lambda seen: slot(seen.views[0].ms))
    found = {tuple(row[name] for name in dimensions): row for row in rows}
    assert {key: row["page_views"] for key, row in found.items() if row["page_views"]} == {
        key: len(acts) for key, acts in views.items()
    }
    assert {key: row["visits"] for key, row in found.items() if row["visits"]} == {
        key: len(seen) for key, seen in visits.items()
    }


def test_the_history_of_one_visitor(shop: Shop) -> None:
    truth = Truth(shop.acts)
    who = max(truth.visitors, key=lambda each: sum(a.visit.visitor == each for a in truth.acts))
    filters = [is_("anonymous_id", who)]
    timeline = shop.rows("visitor_timeline", filters=filters, limit=500)
    [profile] = shop.rows("profile_detail", filters=filters)

    own = [act for act in truth.acts if act.visit.visitor == who]
    events = [act for act in own if act.route == "/track"]
    told = [act for act in own if act.route in ("/track", "/errors") and act.name != "page_exit"]
    assert [row["time"] for row in timeline if row["name"] != "page_exit"] == [
        iso(act.ms) for act in told
    ]
    assert profile["total_pageviews"] == sum(act.is_view for act in events)
    assert profile["total_sessions"] == sum(s.visit.visitor == who for s in truth.visits)
    assert (profile["first_visit"], profile["last_visit"]) == (
        iso(events[0].ms),
        iso(events[-1].ms),
    )


def test_visitors_who_bought_twice(shop: Shop) -> None:
    rows = shop.custom(
        {
            "table": "events",
            "selects": [{"aggregate": "count", "field": "*", "alias": "times"}],
            "filters": [is_("name", "purchase")],
            "groupBy": ["anonymous_id"],
            "having": [{"field": "times", "operator": "gte", "value": 2}],
        }
    )

    bought = grouped(Truth(shop.acts).named("purchase"), lambda act: act.visit.visitor)
    assert {row["anonymous_id"]: row["times"] for row in rows} == {
        who: len(acts) for who, acts in bought.items() if len(acts) >= 2
    }


def test_bots_by_what_told_them(shop: Shop) -> None:
    bots = shop.custom(
        {
            "table": "events",
            "selects": [{"aggregate": "count", "field": "*", "alias": "n"}],
            "filters": [is_("is_bot", True)],
            "groupBy": ["bot_reason", "browser_name"],
        },
        include_bots=True,
    )
    assert [(row["browser_name"], row["n"]) for row in bots] == [("Googlebot", BOTS)]
    assert bots[0]["bot_reason"]


def test_visits_over_midnight_keep_what_brought_them(shop: Shop) -> None:
    """A range that begins in the middle of visits: their channel is that of their first view."""
    rows = shop.metrics("visits", "page_views", by=["visit.channel", "visit.entry_page"], **LIVE)

    truth = Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY)
    visits = grouped(truth.visits, lambda s: (s.visit.source.channel, s.visit.entry_page))
    assert {
        (row["visit.channel"], row["visit.entry_page"]): row["visits"]
        for row in rows
        if row["visits"]
    } == {key: len(seen) for key, seen in visits.items()}
    began = {act.visit.session for act in truth.all if act.ms < truth.start_ms}
    over = [seen.visit for seen in truth.visits if seen.visit.session in began]
    assert len({visit.source.channel for visit in over}) > 1
