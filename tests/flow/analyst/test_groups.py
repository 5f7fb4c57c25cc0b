"""Questions of an analyst: breakdowns, cohorts, rates of errors and vitals, several periods."""

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from tests.flow.analyst.shop import LIVE, Shop, is_
from tests.flow.analyst.shop_traffic import FIRST_LIVE_DAY, LAST_DAY, Act
from tests.flow.analyst.test_steps import (
    FUNNEL,
    GOALS,
    funnel_of,
    goals_of,
    reached,
    retained,
    retention_of,
    shown,
    walk,
)
from tests.flow.analyst.truth import Truth, by, grouped, people, quality
from tests.oracle.aggregates import percent, quantile

Rows = Sequence[dict[str, Any]]
EVERY = 50
"""More groups than there are."""


def groups(rows: Rows) -> dict[Any, list[dict[str, Any]]]:
    """Rows by the value of their breakdown; none is the group of the others."""
    assert not any(row["other"] for row in rows)
    return grouped(rows, lambda row: row["breakdown"])


def by_channel(acts: Sequence[Act]) -> dict[str, list[Act]]:
    return grouped(acts, lambda act: act.visit.source.channel)


def test_a_funnel_by_device(shop: Shop) -> None:
    found = shop.rows({**FUNNEL, "breakdown": "device_type"})

    events = grouped(Truth(shop.acts).events, lambda act: act.visit.device.type)
    assert {value: shown(rows) for value, rows in groups(found).items()} == {
        device: funnel_of(acts) for device, acts in events.items()
    }


def test_goals_by_the_channel_of_the_visit(shop: Shop) -> None:
    """All conversions are in one of the groups."""
    found = shop.rows(
        {"name": "goals", "goals": GOALS, "breakdown": "visit.channel", "breakdown_limit": EVERY}
    )

    truth = Truth(shop.acts)
    assert {value: reached(rows) for value, rows in groups(found).items()} == {
        channel: goals_of(acts) for channel, acts in by_channel(truth.events).items()
    }
    bought = sum(row["conversions"] for row in found if row["name"] == "purchase")
    assert bought == len(truth.named("purchase"))


def test_goals_by_the_channel_that_brought_the_visitor_first(shop: Shop) -> None:
    goals = {"name": "goals", "goals": GOALS, "attribution": "first_touch"}
    found = shop.rows({**goals, "breakdown": "visit.channel", "breakdown_limit": EVERY})

    events = first_touch(Truth(shop.acts).events)
    assert {value: reached(rows) for value, rows in groups(found).items()} == {
        channel: goals_of(acts) for channel, acts in events.items()
    }


def first_touch(events: Sequence[Act]) -> dict[str, list[Act]]:
    """Events by the channel of their visitor's first one."""
    first: dict[str, Act] = {}
    for act in events:
        first.setdefault(act.visit.visitor, act)
    return grouped(events, lambda act: first[act.visit.visitor].visit.source.channel)


def test_who_left_the_funnel_at_its_second_step(shop: Shop) -> None:
    of = {**FUNNEL, "step": 2, "outcome": "dropped"}
    rows = shop.rows({"name": "visitors", "of": of}, limit=500)

    own = grouped(Truth(shop.acts).events, lambda act: act.visit.visitor)
    steps = {who: len(walk(acts)) for who, acts in own.items()}
    assert sorted(row["visitor_id"] for row in rows) == sorted(
        who for who, count in steps.items() if count == 1
    )


def test_retention_by_the_channel_that_brought_the_visitor_first(shop: Shop) -> None:
    found = shop.rows(
        {"name": "retention", "breakdown": "visit.channel", "breakdown_limit": EVERY}, limit=10_000
    )

    cohorts = first_touch(Truth(shop.acts).events)
    assert {value: retained(rows) for value, rows in groups(found).items()} == {
        channel: retention_of(acts) for channel, acts in cohorts.items()
    }


def signed_up_as(plan: str, acts: Sequence[Act]) -> set[str]:
    """The visitors who signed up for a plan."""
    return {
        act.visit.visitor for act in acts if act.name == "signup" and act.properties["plan"] == plan
    }


PRO = {"event": "signup", "filters": [is_("properties.plan", "pro")]}


@pytest.mark.parametrize("within", ["range", "ever"])
def test_a_cohort_of_those_who_signed_up_as_pro(shop: Shop, within: str) -> None:
    cohort = [{"has_done": {**PRO, "within": within}}]
    [summary] = shop.rows("summary", filters=cohort, **LIVE)
    asked = {"name": "retention", "cohort": "first_in_range"}
    found = shop.rows(asked, filters=cohort, **LIVE)

    truth = Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY)
    members = signed_up_as("pro", truth.events if within == "range" else truth.all)
    events = [act for act in truth.events if act.visit.visitor in members]
    visits = [seen for seen in truth.visits if seen.visit.visitor in members]
    assert (summary["unique_visitors"], summary["sessions"]) == (people(events), len(visits))
    assert summary["bounce_rate"] == percent(sum(s.bounced for s in visits), len(visits))
    assert sum(row["visitors"] for row in found if row["period"] == 0) == people(events)


def test_visitors_who_saw_a_page_but_not_another(shop: Shop) -> None:
    saw = [{"has_done": {"path": "/pricing"}}, {"has_not_done": {"path": "/docs"}}]
    rows = shop.rows("profile_list", filters=saw, limit=500)

    pages = grouped(Truth(shop.acts).views, lambda act: act.visit.visitor)
    paths = {who: {act.path for act in acts} for who, acts in pages.items()}
    assert sorted(row["visitor_id"] for row in rows) == sorted(
        who for who, seen in paths.items() if "/pricing" in seen and "/docs" not in seen
    )


def test_those_who_never_bought(shop: Shop) -> None:
    idle = [{"has_not_done": {"event": "purchase", "within": "ever"}}]
    [found] = shop.metrics("visitors", "visits", filters=idle)

    truth = Truth(shop.acts)
    buyers = {act.visit.visitor for act in truth.all if act.name == "purchase"}
    assert found == {
        "visitors": len(truth.visitors - buyers),
        "visits": sum(seen.visit.visitor not in buyers for seen in truth.visits),
    }


def test_error_rate_of_each_page(shop: Shop) -> None:
    rows = shop.metrics("page_views", "errors", "affected_visitors", "error_rate", by=["path"])

    truth = Truth(shop.acts)
    views = grouped(truth.views, lambda act: act.path)
    errors = grouped(truth.of("/errors"), lambda act: act.path)
    wanted = {}
    for path, seen in views.items():
        broken = errors.get(path, [])
        sessions = {act.visit.session for act in seen}
        failed = {act.visit.session for act in broken}
        wanted[path] = {
            "page_views": len(seen),
            "errors": len(broken),
            "affected_visitors": people(broken),
            "error_rate": percent(len(failed), len(sessions | failed)),
        }
    assert by("path", rows) == wanted


VITAL_BOUNDS = {"LCP": (2_500, 4_000), "INP": (200, 500), "CLS": (0.1, 0.25)}
"""Up to the first a value is good, beyond the second poor."""


def test_vitals_with_shares_of_good_and_poor_by_device(shop: Shop) -> None:
    metrics = [
        f"{metric}_{vital.lower()}"
        for vital in VITAL_BOUNDS
        for metric in ("p75", "good", "poor", "samples")
    ]
    rows = shop.metrics(*metrics, by=["device_type"])

    measured = grouped(Truth(shop.acts).of("/vitals"), lambda act: act.visit.device.type)
    wanted: dict[str, dict[str, Any]] = {}
    for device, acts in measured.items():
        row = wanted[device] = {}
        for vital, (good, poor) in VITAL_BOUNDS.items():
            items = [act.item for act in acts if act.item["metricName"] == vital]
            values = [item["metricValue"] for item in items]
            name = vital.lower()
            exact = [Fraction(str(value)) for value in values]
            row[f"p75_{name}"] = quantile(exact, 75, 4)
            row[f"good_{name}"] = percent(sum(v <= good for v in values), len(values))
            row[f"poor_{name}"] = percent(sum(v > poor for v in values), len(values))
            row[f"samples_{name}"] = len(values)
    assert by("device_type", rows) == wanted


def test_visits_and_bounces_beside_the_days_before(shop: Shop) -> None:
    """By channel, in one answer."""
    before = FIRST_LIVE_DAY - timedelta(days=30)
    yesterday = FIRST_LIVE_DAY - timedelta(days=1)
    compare = {"to": {"startDate": str(before), "endDate": str(yesterday)}}
    body = {"metrics": ["visits", "bounce_rate"], "dimensions": ["visit.channel"], **LIVE}
    reply = shop.post("/v1/query/metrics", {**body, "compare": compare}).json

    then = grouped(
        Truth(shop.acts, before, yesterday).visits, lambda seen: seen.visit.source.channel
    )
    for row, compared in zip(reply["data"], reply["comparison"]["rows"], strict=True):
        visits = then.get(row["visit.channel"], [])
        previous = compared["previous"] or {"visits": 0}
        assert previous["visits"] == len(visits)
        assert compared["change"]["visits"] == row["visits"] - len(visits)
        if visits:
            assert previous["bounce_rate"] == quality(visits)["bounce_rate"]
