"""Questions of an analyst: how often visitors come, who stays, who comes back and who is gone."""

from datetime import date, timedelta
from fractions import Fraction

from tests.flow.analyst.shop import Shop
from tests.flow.analyst.shop_traffic import LAST_DAY
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
