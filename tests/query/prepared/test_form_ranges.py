"""Which quarters forms read, and that forms of different kinds are different."""

from query.prepared.cohorts import Cohorts
from query.prepared.custom_event_groups import CustomEventsByBucket, CustomEventTotals
from query.prepared.part_tables import QUARTER_MS
from query.prepared.session_groups import SessionsByBucket
from query.request.buckets import Granularity
from query.request.time_range import TimeRange

HOURS = TimeRange(8 * QUARTER_MS, 16 * QUARTER_MS, "UTC")
CUT = TimeRange(8 * QUARTER_MS + 1, 16 * QUARTER_MS, "UTC")


def test_a_form_of_the_whole_range_has_one_bucket() -> None:
    quarters = CustomEventTotals().quarters(HOURS, Granularity.HOURLY)

    assert quarters is not None
    assert (quarters.first, quarters.end, set(quarters.buckets.tolist())) == (8, 16, {0})
    assert CustomEventTotals().quarters(CUT, Granularity.HOURLY) is None


def test_a_form_of_buckets_has_those_of_the_granularity() -> None:
    quarters = CustomEventsByBucket().quarters(HOURS, Granularity.HOURLY)

    assert quarters is not None
    assert quarters.buckets.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert CustomEventsByBucket().quarters(CUT, Granularity.HOURLY) is None


def test_forms_without_options_are_told_apart() -> None:
    forms = {Cohorts(9), CustomEventTotals(), CustomEventsByBucket(), SessionsByBucket()}

    assert len(forms) == 4
    assert len({repr(form) for form in forms}) == 4
