"""Which forms take the rows of quarters that a time range cuts."""

import pytest

from query.prepared.forms import FilteredByAttribute, RollupPlan
from query.prepared.partial_quarters import cut_range, quarters_within
from query.prepared.rollup import shifted
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.session_lists import SessionList
from query.prepared.visitor_lists import VisitorList
from query.request.buckets import Granularity
from query.request.time_range import TimeRange
from query.standard.query_types import QUERY_TYPES
from tests.query.prepared.rollups import part_of

Q, HOUR = QUARTER_MS, 4 * QUARTER_MS
DAY = 24 * HOUR
MINUTE = 60_000


def form_of(name: str) -> RollupPlan:
    form = QUERY_TYPES[name].rollup_plan(None)
    assert form is not None
    return form


SERIES, LISTED = form_of("events_by_date"), SessionList(with_events=False)


@pytest.mark.parametrize(
    ("start", "end", "whole", "edges"),
    [
        (MINUTE, DAY, (Q, DAY), [(MINUTE, Q)]),
        (0, DAY + 1, (0, DAY), [(DAY, DAY + 1)]),
        (Q - 1, DAY - 1, (Q, DAY - Q), [(Q - 1, Q), (DAY - Q, DAY - 1)]),
    ],
)
def test_a_range_has_whole_quarters_and_edges(
    start: int, end: int, whole: tuple[int, int], edges: list[tuple[int, int]]
) -> None:
    cut = cut_range(TimeRange(start, end, "UTC"))

    assert cut is not None
    assert (cut.whole.start_ms, cut.whole.end_ms) == whole
    assert [(edge.start_ms, edge.end_ms) for edge in cut.edges] == edges
    assert (cut.outer.start_ms, cut.outer.end_ms) == (start - start % Q, end + -end % Q)


@pytest.mark.parametrize(("start", "end"), [(0, DAY), (MINUTE, Q), (MINUTE, Q + MINUTE)])
def test_a_range_that_cuts_none_or_has_no_whole_one_is_not_cut(start: int, end: int) -> None:
    assert cut_range(TimeRange(start, end, "UTC")) is None


@pytest.mark.parametrize(
    ("form", "granularity", "start", "end", "is_within"),
    [
        (LISTED, Granularity.DAILY, MINUTE, DAY - MINUTE, True),
        (VisitorList(), Granularity.DAILY, MINUTE, DAY - MINUTE, False),
        (form_of("lifecycle"), Granularity.DAILY, MINUTE, DAY - MINUTE, False),
        (FilteredByAttribute(VisitorList(), b"[]"), Granularity.DAILY, MINUTE, DAY - MINUTE, False),
        (SERIES, Granularity.DAILY, MINUTE, DAY - MINUTE, True),
        (SERIES, Granularity.DAILY, DAY - MINUTE, 2 * DAY, False),
        (SERIES, Granularity.DAILY, 0, DAY + MINUTE, False),
        (SERIES, Granularity.HOURLY, MINUTE, 3 * HOUR - MINUTE, True),
        (SERIES, Granularity.HOURLY, HOUR - MINUTE, 3 * HOUR, False),
        (SERIES, Granularity.HOURLY, 0, HOUR + MINUTE, False),
    ],
)
def test_rows_of_cut_quarters_stay_in_their_bucket(
    form: RollupPlan, granularity: Granularity, start: int, end: int, *, is_within: bool
) -> None:
    cut = cut_range(TimeRange(start, end, "UTC"))
    assert cut is not None

    quarters = quarters_within(form, cut, granularity)

    assert (quarters is not None) is is_within
    if quarters is not None:
        whole = cut.whole.start_ms // Q, cut.whole.end_ms // Q
        assert (quarters.first, quarters.end) == whole


@pytest.mark.parametrize("later", [1, -1])
def test_shifted_rows_are_at_the_same_instants(later: int) -> None:
    rollup = part_of(
        "sessions", quarter=[7, 7], visitor=[1, 2], session_key=[3, 4], start_ms=[5, 800_000]
    )

    table = shifted(rollup, later, Q).table("sessions")

    quarters = table.stored["quarter"]
    assert quarters.tolist() == [7 + later] * 2
    assert (quarters * Q + table.numbers["start_ms"]).tolist() == [7 * Q + 5, 7 * Q + 800_000]
