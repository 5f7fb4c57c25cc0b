"""MetricsQuery: what one metrics query asks, validated."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.metrics.dimensions import Dimension
from query.metrics.fields import FIELDS
from query.metrics.segments import DIMENSION as SEGMENT_DIMENSION
from query.metrics.segments import SelectedSegment
from query.metrics.terms import SelectedMetric
from query.request.filter_struct import Filter, fields_named, names_behavior
from query.request.order import OrderTerm
from query.request.query import Query
from query.request.time_range import Granularity
from query.scope.profiles import PROFILE_FIELD, names_profile
from query.scope.visitor_facts import IS_NEW, VISITOR_PREFIX, names_visitor_facts
from query.sql.fragment import Fragment
from query.sql.portable import names_in
from query.standard.declaration.result_check import DAILY_IDS, ResultCheck
from schemas.tables import EVENTS, IDENTITIES, Table


class MetricsQuery(Struct, frozen=True, kw_only=True):
    """A validated metrics query."""

    query: Query
    dimensions: tuple[Dimension, ...]
    metrics: tuple[SelectedMetric, ...]
    having: Fragment
    """Conditions on the columns `m0`, `m1`, ... of the result."""
    segments: tuple[SelectedSegment, ...] = ()
    """Side by side; the last dimension is then that of segments."""

    @property
    def filters_of_segments(self) -> Sequence[Sequence[Filter]]:
        """The filters of the rows of each segment; those of the query without segments."""
        filters = self.query.filters
        return [[*filters, *segment.filters] for segment in self.segments] or [filters]

    @property
    def filters(self) -> Sequence[Filter]:
        """All filters of the query and its segments."""
        return [*self.query.filters, *(each for one in self.segments for each in one.filters)]

    @property
    def fields_filtered(self) -> set[str]:
        """The fields that filters name."""
        return set().union(*map(fields_named, self.filters))

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that its metrics read."""
        return list(dict.fromkeys(table for m in self.metrics for table in m.metric.tables))

    @property
    def reads_events(self) -> bool:
        """Whether it needs events, also when its metrics are of other tables."""
        return (
            EVENTS in self.tables
            or any(map(names_behavior, self.filters))
            or any(dimension.reads_events for dimension in self.dimensions)
            or any(FIELDS[name].reads_events for name in self.fields_filtered & FIELDS.keys())
        )

    @property
    def further_tables(self) -> Sequence[Table]:
        """The tables that facts of rows and warnings come from."""
        profiles = self.query.by_profile or any(map(names_profile, self.filters))
        profiles = profiles or any(dimension.name == PROFILE_FIELD for dimension in self.dimensions)
        events = [EVENTS] if self.reads_events or self.checks else []
        return [*events, *([IDENTITIES] if profiles else [])]

    @property
    def checks(self) -> Sequence[ResultCheck]:
        """What warnings of the result come from; none looks past the filters of a share."""
        parts = (part.sql for metric in self.metrics for part in metric.metric.parts)
        by_times = (
            names_visitor_facts(self.fields_filtered)
            or any(d.name.startswith(VISITOR_PREFIX) for d in self.dimensions)
            or any(IS_NEW.column in names_in(sql) for sql in parts)
        )
        of_metrics = (check for metric in self.metrics for check in metric.metric.checks)
        daily_ids = by_times and self.query.subject.shared_filters is None
        return [*([DAILY_IDS] if daily_ids else []), *of_metrics]

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of the SQL by their names in the result."""
        dimensions = {
            d.name: d.name if d is SEGMENT_DIMENSION else f"d{i}"
            for i, d in enumerate(self.dimensions)
        }
        return dimensions | {m.name: f"m{i}" for i, m in enumerate(self.metrics)}

    @property
    def by_buckets(self) -> Sequence[Granularity]:
        """The widths of the buckets of time that rows are grouped by."""
        times = (d.time.granularity for d in self.dimensions if d.time)
        return [granularity for granularity in times if granularity is not None]

    @property
    def is_series(self) -> bool:
        """Whether the result has a row for every bucket of the time range."""
        if len(self.dimensions) != 1 or self.having.text:
            return False
        return bool(self.by_buckets)

    @property
    def order(self) -> Sequence[OrderTerm]:
        """The requested order, else time ascending or the first metric descending.

        Then every dimension, so that the order is total.
        """
        first = self.dimensions[0] if self.dimensions else None
        default = (
            OrderTerm(first.name, "asc")
            if first is not None and first.time
            else OrderTerm(self.metrics[0].name, "desc")
        )
        own = list(self.query.page.order) or [default]
        return [*own, *(OrderTerm(d.name, "asc") for d in self.dimensions)]
