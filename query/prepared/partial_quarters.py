"""Quarter-hours that a range cuts: whether their rows may go to the whole ones beside them."""

from collections.abc import Sequence

from msgspec import Struct

from query.prepared.custom_events import CustomEventsByQuarter
from query.prepared.forms import FilteredPlan, RollupPlan
from query.prepared.metric_rows import MetricGroups
from query.prepared.not_prepared import NO_QUARTER, OTHER_QUARTERS, NotPrepared
from query.prepared.quarter_hours import NewVisitorPlan, QuarterHours, by_bucket
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.row_groups import RowGroups
from query.prepared.visitor_lists import VisitorList
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.time_range import TimeRange

NOT_OF_CUT_QUARTERS = (NewVisitorPlan, VisitorList, CustomEventsByQuarter)
"""Forms to which the quarter of a row is a time: that before which visitors were new, the first
and the last of a visitor without a session, or from which events are read."""


class CutRange(Struct, frozen=True):
    """A time range that cuts quarters: the whole ones within it, and what is left at its edges."""

    whole: TimeRange
    edges: Sequence[TimeRange]

    @property
    def outer(self) -> TimeRange:
        """All quarters that it has a rollup of."""
        start = min(each.start_ms for each in (self.whole, *self.edges))
        end = max(each.end_ms for each in (self.whole, *self.edges))
        return TimeRange(start - start % QUARTER_MS, end + -end % QUARTER_MS, self.whole.zone)


def whole_quarters(time_range: TimeRange) -> TimeRange:
    """What of a range is whole quarters; it ends before it begins where there is none."""
    start, end = time_range.start_ms, time_range.end_ms
    return TimeRange(start + -start % QUARTER_MS, end - end % QUARTER_MS, time_range.zone)


def cut_range(time_range: TimeRange) -> CutRange | None:
    """A range that cuts quarters; None when it cuts none, or has no whole one."""
    start, end, zone = time_range.start_ms, time_range.end_ms, time_range.zone
    whole = whole_quarters(time_range)
    if whole.end_ms <= whole.start_ms or whole == time_range:
        return None
    edges = (TimeRange(start, whole.start_ms, zone), TimeRange(whole.end_ms, end, zone))
    return CutRange(whole, [edge for edge in edges if edge.start_ms < edge.end_ms])


def quarters_read(
    form: RollupPlan, time_range: TimeRange, granularity: Granularity
) -> tuple[QuarterHours, TimeRange, Sequence[TimeRange]]:
    """The quarters of a form, their time range, and what of the range is in cut ones beside them.

    Raises NotPrepared.
    """
    if (quarters := form.quarters(time_range, granularity)) is not None:
        return quarters, time_range, ()
    whole = whole_quarters(time_range)
    if whole.end_ms <= whole.start_ms:
        raise NotPrepared(NO_QUARTER)
    cut = cut_range(time_range)
    quarters = None if cut is None else quarters_within(form, cut, granularity)
    if cut is None or quarters is None:
        raise NotPrepared(OTHER_QUARTERS)
    return quarters, cut.whole, cut.edges


def quarters_within(
    form: RollupPlan, cut: CutRange, granularity: Granularity
) -> QuarterHours | None:
    """The whole quarter-hours of a range; None where rows of cut ones belong elsewhere."""
    inner = form
    while isinstance(inner, FilteredPlan):
        inner = inner.form
    if isinstance(inner, NOT_OF_CUT_QUARTERS):
        return None
    by_hour = isinstance(inner, RowGroups | MetricGroups) and any(
        isinstance(g, DatePart) for g in inner.groups
    )
    outer = (
        by_bucket(cut.outer, Granularity.HOURLY)
        if by_hour
        else form.quarters(cut.outer, granularity)
    )
    if outer is None or len(outer.buckets) <= len(cut.edges):
        return None
    for edge in cut.edges:
        is_first = edge.start_ms < cut.whole.start_ms
        own, beside = outer.buckets[:2] if is_first else outer.buckets[-2:]
        if own != beside:
            return None
    return form.quarters(cut.whole, granularity)
