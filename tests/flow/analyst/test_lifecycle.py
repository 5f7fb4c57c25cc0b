"""Questions of an analyst: how often visitors come, who stays, who comes back and who is gone."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction

from tests.flow.analyst.shop import Shop
from tests.flow.analyst.shop_traffic import LAST_DAY, Act
from tests.flow.analyst.truth import Truth, grouped, local, people

MONTH = (LAST_DAY - timedelta(days=29), LAST_DAY)
LATER = (LAST_DAY - timedelta(days=13), LAST_DAY)
EARLIER = (LAST_DAY - timedelta(days=27), LAST_DAY - timedelta(days=14))


def visitors(shop: Shop, first: date, last: date) -> int:
    [row] = shop.metrics("visitors", startDate=str(first), endDate=str(last))
    return int(row["visitors"])


def new_visitors(shop: Shop, first: date, last: date) -> int:
    rows = shop.metrics("visitors", by=["visitor.is_new"], startDate=str(first), endDate=str(last))
    return next(int(row["visitors"]) for row in rows if row["visitor.is_new"])


def test_stickiness_is_visitors_of_a_day_per_visitors_of_the_month(shop: Shop) -> None:
    first, last = MONTH
    rows = shop.metrics("visitors", by=["time:day"], startDate=str(first), endDate=str(last))
    monthly = visitors(shop, first, last)

    truth = Truth(shop.acts, first, last)
    days = grouped(truth.events, lambda act: local(act.ms).date())
    daily = [people(acts) for acts in days.values()]
    assert len(rows) == 30
    assert monthly == len(truth.visitors)
    stickiness = Fraction(sum(row["visitors"] for row in rows), 30 * monthly)
    assert stickiness == Fraction(sum(daily), 30 * len(truth.visitors))
    assert 0 < stickiness < 1


def test_lifecycle_of_visitors_between_two_fortnights(shop: Shop) -> None:
    """Visitors of both fortnights: those of each, less those of the four weeks."""
    now, before = visitors(shop, *LATER), visitors(shop, *EARLIER)
    new = new_visitors(shop, *LATER)
    stayed = now + before - visitors(shop, EARLIER[0], LATER[1])

    later, earlier = Truth(shop.acts, *LATER), Truth(shop.acts, *EARLIER)
    known = {act.visit.visitor for act in later.all if act.ms < later.start_ms}
    assert {
        "new": new,
        "returning": stayed,
        "resurrecting": now - new - stayed,
        "dormant": before - stayed,
    } == {
        "new": len(later.visitors - known),
        "returning": len(later.visitors & earlier.visitors),
        "resurrecting": len((later.visitors & known) - earlier.visitors),
        "dormant": len(earlier.visitors - later.visitors),
    }
    assert all((new, stayed, now - new - stayed, before - stayed))


def test_who_is_active_in_the_windows_of_each_day(shop: Shop) -> None:
    first, last = MONTH
    rows = shop.rows("active_visitors", startDate=str(first), endDate=str(last))

    days = grouped(Truth(shop.acts, first - timedelta(days=29), last).events, day_of)
    assert [
        (row["daily_visitors"], row["weekly_visitors"], row["monthly_visitors"]) for row in rows
    ] == [
        tuple(active(days, first + timedelta(days=n), width) for width in (1, 7, 30))
        for n in range(30)
    ]
    assert rows[-1]["monthly_visitors"] > rows[-1]["weekly_visitors"] > 0


def day_of(act: Act) -> date:
    return local(act.ms).date()


def active(days: Mapping[date, Sequence[Act]], last: date, width: int) -> int:
    """Visitors of the days that end with the last."""
    window = [last - timedelta(days=back) for back in range(width)]
    return people([act for day in window for act in days.get(day, ())])


def test_on_how_many_days_visitors_come(shop: Shop) -> None:
    first, last = MONTH
    rows = shop.rows("stickiness", startDate=str(first), endDate=str(last))

    own = grouped(Truth(shop.acts, first, last).events, lambda act: act.visit.visitor)
    counts = [len(set(map(day_of, acts))) for acts in own.values()]
    assert {row["periods"]: row["visitors"] for row in rows} == {
        number: counts.count(number) for number in set(counts)
    }


def test_new_returning_resurrecting_and_dormant_visitors_of_each_week(shop: Shop) -> None:
    rows = shop.rows(
        {"name": "lifecycle", "period": "week"}, startDate=str(MONTH[0]), endDate=str(MONTH[1])
    )

    weeks = grouped(
        [act for act in Truth(shop.acts).all if act.route == "/track"],
        lambda act: monday(day_of(act)),
    )
    known = {week: {act.visit.visitor for act in acts} for week, acts in weeks.items()}
    for row in rows:
        week = date.fromisoformat(row["date"])
        now, before = known.get(week, set()), known.get(week - timedelta(days=7), set())
        ever = set[str]().union(*(who for other, who in known.items() if other < week))
        assert (row["new"], row["returning"]) == (len(now - ever), len(now & before))
        assert row["resurrecting"] == len((now & ever) - before)
        assert row["dormant"] == len(before - now)
    assert len(rows) >= 5


def monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
