"""Lists of the page views that meet filters on fields of other tables."""

from query.prepared.filtered_breakdown import filtered_breakdown
from query.prepared.quarter_hours import whole_range
from query.request.filter_struct import Behavior, Filter
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import join
from tests.query.prepared.test_row_columns import OTHERS, VIEWS, rollup

DAY = TimeRange(0, 86_400_000, "UTC")
ANY_PATH = Filter(field="path", operator="starts_with", value="/")


def test_countries_of_some_paths_have_shares_of_their_visitors() -> None:
    form = filtered_breakdown(("country",), [Filter("path", "in", value=["/a", "/moved", "/2"])])
    quarters = whole_range(DAY)

    assert form is not None
    assert quarters is not None
    found = form.rows(join([rollup(VIEWS, OTHERS)], 0, 96), quarters)
    assert found is not None
    assert [*found] == [("DE", 2, 2, 2, 3), ("FR", 1, 1, 1, 3)]


def test_a_first_text_may_be_left_out() -> None:
    form = filtered_breakdown(("country",), [ANY_PATH], left_out="DE")
    quarters = whole_range(DAY)

    assert form is not None
    assert quarters is not None
    found = form.rows(join([rollup(VIEWS, OTHERS)], 0, 96), quarters)
    assert found is not None
    assert [row[0] for row in found] == ["ES", "FR"]


def test_parts_do_not_have_other_fields_and_behavior() -> None:
    assert filtered_breakdown(("country",), [Filter("title", "is_null")]) is None
    assert filtered_breakdown(("country",), [Filter(has_done=Behavior(event="a"))]) is None
    assert filtered_breakdown(("title",), [ANY_PATH]) is None
