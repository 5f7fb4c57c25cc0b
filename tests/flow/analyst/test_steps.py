"""Questions of an analyst: funnels, goals, journeys and who comes back."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.flow.analyst.shop import LIVE, PURCHASE, Shop, is_
from tests.flow.analyst.shop_traffic import FIRST_LIVE_DAY, LAST_DAY, Act
from tests.flow.analyst.truth import Truth, grouped, local, people
from tests.oracle.aggregates import median, percent, rounded

STEPS = [{"path": "/"}, {"path": "/pricing"}, {"event": "purchase"}]
WINDOW_MS = 7 * 86_400_000
GOALS = [PURCHASE, {"event": "signup", "filters": [is_("properties.plan", "pro")], "label": "pro"}]

Test = Callable[[Act], bool]
PASSES: Sequence[Test] = (
    lambda act: act.is_view and act.path == "/",
    lambda act: act.is_view and act.path == "/pricing",
    lambda act: act.name == "purchase",
)


def journeys(acts: Sequence[Act]) -> list[list[int | None]]:
    """For each step, the waits since the step before of the visitors who reached it.

    From every first step on, the following ones are looked for in the order of time; the latest
    start that leads on at all counts.
    """
    waits: list[list[int | None]] = [[] for _ in PASSES]
    for own in grouped(acts, lambda act: act.visit.visitor).values():
        for step, wait in enumerate(walk(own)):
            waits[step].append(wait)
    return waits


def walk(own: Sequence[Act]) -> list[int | None]:
    """The waits of one visitor at the first time that each step is reached."""
    starts: list[int | None] = [None] * len(PASSES)
    """By step: the newest start of an attempt that has reached it."""
    at: list[int] = [0] * len(PASSES)
    reached: list[int | None] = []
    for act in own:
        for step in reversed(range(len(PASSES))):
            if not PASSES[step](act):
                continue
            start = act.ms if step == 0 else starts[step - 1]
            if start is None or act.ms - start > WINDOW_MS:
                continue
            if step == len(reached):
                reached.append(act.ms - at[step - 1] if step else None)
            starts[step] = max(start, starts[step] or start)
            at[step] = act.ms
            break
    return reached


def funnel_of(acts: Sequence[Act]) -> list[dict[str, Any]]:
    """The numbers of a funnel over these acts."""
    waits = journeys(acts)
    counts = [len(each) for each in waits]
    rows = []
    for step, count in enumerate(counts):
        before = counts[step - 1] if step else count
        times = [wait for wait in waits[step] if wait is not None]
        rows.append(
            {
                "visitors": count,
                "conversion_rate": percent(count, counts[0]),
                "dropped": before - count,
                "median_seconds": rounded(median(times) / 1000) if times else None,
            }
        )
    return rows


def shown(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that `funnel_of` computes."""
    names = ("visitors", "conversion_rate", "dropped", "median_seconds")
    return [{name: row[name] for name in names} for row in rows]


FUNNEL = {"name": "funnel", "steps": STEPS}
DEVICES = ("desktop", "mobile")
CHANNELS = ("Direct", "Organic Search", "Paid Search")


def test_the_funnel_and_the_time_to_convert(shop: Shop) -> None:
    assert shown(shop.rows(FUNNEL)) == funnel_of(Truth(shop.acts).events)


@pytest.mark.parametrize("device", DEVICES)
def test_the_funnel_of_a_device(shop: Shop, device: str) -> None:
    found = shop.rows(FUNNEL, filters=[is_("device_type", device)])

    events = [act for act in Truth(shop.acts).events if act.visit.device.type == device]
    assert shown(found) == funnel_of(events)


@pytest.mark.parametrize("channel", CHANNELS)
def test_funnel_and_goals_of_a_source(shop: Shop, channel: str) -> None:
    filters = [is_("channel", channel)]
    events = [a for a in Truth(shop.acts).events if a.visit.source.channel == channel]

    assert shown(shop.rows(FUNNEL, filters=filters)) == funnel_of(events)
    found = shop.rows({"name": "goals", "goals": GOALS}, filters=filters)
    assert reached(found) == goals_of(events)


def goals_of(events: Sequence[Act]) -> list[dict[str, Any]]:
    """The numbers of the two goals."""
    done = {
        "purchase": [act for act in events if act.name == "purchase"],
        "pro": [a for a in events if a.name == "signup" and a.properties["plan"] == "pro"],
    }
    return [
        {
            "name": name,
            "conversions": len(acts),
            "visitors": people(acts),
            "sessions": len({act.visit.session for act in acts}),
            "conversion_rate": percent(people(acts), people(events)),
        }
        for name, acts in done.items()
    ]


def reached(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that `goals_of` computes."""
    names = ("name", "conversions", "visitors", "sessions", "conversion_rate")
    return [{name: row[name] for name in names} for row in rows]


def test_goals_with_their_conversion_rate(shop: Shop) -> None:
    found = shop.rows({"name": "goals", "goals": GOALS}, **LIVE)

    assert reached(found) == goals_of(Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY).events)


def monday(ms: int) -> date:
    """The week of an instant."""
    day = local(ms).date()
    return day - timedelta(days=day.weekday())


def retention_of(events: Sequence[Act]) -> dict[tuple[str, int], tuple[int, int]]:
    """Members and returned, by cohort and weeks since; cohorts with members only."""
    weeks = {
        who: sorted({monday(act.ms) for act in acts})
        for who, acts in grouped(events, lambda act: act.visit.visitor).items()
    }
    found = {}
    for cohort in {came[0] for came in weeks.values()}:
        members = [came for came in weeks.values() if came[0] == cohort]
        for period in range((monday(Truth([]).end_ms - 1) - cohort).days // 7 + 1):
            week = cohort + timedelta(days=7 * period)
            back = sum(week in came for came in members)
            found[str(cohort), period] = (len(members), back)
    return found


def retained(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, int], tuple[int, int]]:
    """The same from an answer."""
    return {
        (row["date"], row["period"]): (row["visitors"], row["returned"])
        for row in rows
        if row["visitors"]
    }


def test_retention_by_week(shop: Shop) -> None:
    rows = shop.rows({"name": "retention", "period": "week"})

    assert retained(rows) == retention_of(Truth(shop.acts).events)


def test_retention_of_visitors_from_one_source(shop: Shop) -> None:
    asked = {"name": "retention", "cohort": "first_in_range"}
    rows = shop.rows(asked, filters=[is_("channel", "Organic Search")])

    events = [a for a in Truth(shop.acts).events if a.visit.source.channel == "Organic Search"]
    assert retained(rows) == retention_of(events)


def pages_of(views: Sequence[Act]) -> list[str]:
    """The pages of a visit; consecutive views of one count once."""
    pages = [act.path for act in views]
    return [page for n, page in enumerate(pages) if n == 0 or pages[n - 1] != page]


def test_journeys_of_visits(shop: Shop) -> None:
    found = shop.rows({"name": "paths"}, limit=1000)
    flow = shop.rows("session_flow", limit=1000)

    visits = [pages_of(seen.views) for seen in Truth(shop.acts).visits]
    ways = grouped(visits, lambda pages: " → ".join(pages[:5]))
    assert {row["name"]: row["sessions"] for row in found} == {
        name: len(walked) for name, walked in ways.items()
    }
    moves = Counter(pair for pages in visits for pair in pairwise(pages))
    assert {(row["from_path"], row["to_path"]): row["transitions"] for row in flow} == moves


def test_journeys_of_one_channel_are_of_whole_visits(shop: Shop) -> None:
    found = shop.rows({"name": "paths"}, limit=1000, filters=[is_("channel", "Email")])

    mailed = [s for s in Truth(shop.acts).visits if s.visit.source.channel == "Email"]
    ways = grouped(mailed, lambda seen: " → ".join(pages_of(seen.views)[:5]))
    assert {row["name"]: row["sessions"] for row in found} == {
        name: len(walked) for name, walked in ways.items()
    }
