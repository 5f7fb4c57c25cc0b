"""Body of a metrics query, parsed into a MetricsQuery."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from query.engine.snapshots import AsOf
from query.metrics.dimensions import Dimension, parse_dimensions
from query.metrics.fields import RowConditions, compile_filters
from query.metrics.terms import MetricTerm, SelectedMetric, select_metrics
from query.request.filters import Filter, FilterField, compile_conditions
from query.request.order import FieldName, OrderTerm
from query.request.query import MAX_ROWS, PageOptions, Query
from query.request.subject import QuerySubject, SubjectKind
from query.request.suggestions import unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_range import check_time_zone
from query.sql.fragment import Fragment
from query.standard.sql.steps import Step
from query.standard.types.goals import MAX_GOALS
from schemas.errors import Malformed
from schemas.tables import ColumnType

MAX_DAYS = 3_660
MAX_METRICS = 20
MAX_DIMENSIONS = 5
DEFAULT_LIMIT = 1_000


class MetricsRequest(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Metrics by dimensions, about one website."""

    metrics: Annotated[list[FieldName | MetricTerm], Meta(min_length=1, max_length=MAX_METRICS)]
    dimensions: Annotated[list[FieldName], Meta(max_length=MAX_DIMENSIONS)] = []
    filters: list[Filter] = []
    having: list[Filter] = []
    """Conditions on metrics."""
    order_by: Annotated[list[OrderTerm], Meta(max_length=25)] = []
    """Metrics and dimensions."""
    goals: Annotated[list[Step], Meta(max_length=MAX_GOALS)] = []
    """What conversions are of."""
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    timezone: str | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)
    definitions: bool = False
    """Whether `meta` has the meaning of each metric and dimension."""


class MetricsQuery(Struct, frozen=True, kw_only=True):
    """A validated metrics query."""

    query: Query
    dimensions: tuple[Dimension, ...]
    metrics: tuple[SelectedMetric, ...]
    conditions: RowConditions
    having: Fragment
    """Conditions on the columns `m0`, `m1`, ... of the result."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of the SQL by their names in the result."""
        dimensions = {d.name: f"d{i}" for i, d in enumerate(self.dimensions)}
        return dimensions | {m.name: f"m{i}" for i, m in enumerate(self.metrics)}

    @property
    def is_series(self) -> bool:
        """Whether the result has a row for every bucket of the time range."""
        if len(self.dimensions) != 1 or self.having.text:
            return False
        time = self.dimensions[0].time
        return time is not None and time.granularity is not None

    @property
    def limit_offset(self) -> tuple[int, int]:
        """Rows of the page, and rows before it."""
        return self.query.page.limit_offset(MAX_ROWS if self.is_series else DEFAULT_LIMIT)

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


def parse_request(
    body: MetricsRequest, subject: QuerySubject, zone: str | None, now_ms: int
) -> MetricsQuery:
    """The query of a body; `zone` of the query string overrides the body's time zone."""
    if subject.kind is not SubjectKind.WEBSITE:
        raise Malformed("Metrics queries are about a website; give 'website_id', not 'link_id'")
    name = check_time_zone("timezone", zone or body.timezone or subject.time_zone)
    dates = (body.start_date, body.end_date, body.preset)
    time_range = parse_time_range(*dates, name, now_ms, MAX_DAYS)
    dimensions = parse_dimensions(body.dimensions)
    for dimension in dimensions:
        if dimension.time and dimension.time.granularity:
            time_range.points(dimension.time.granularity)  # Malformed for too many
    metrics = select_metrics(body.metrics, body.goals)
    own_names = {term.name for term in body.metrics if not isinstance(term, str)}
    for name_of_both in own_names & {one.name for one in dimensions}:
        raise Malformed(
            f"'{name_of_both}' names a dimension and a metric; "
            "give the metric another name by {'metric': …, 'as': …}"
        )
    parsed = MetricsQuery(
        query=Query(
            subject=subject,
            time_range=time_range,
            now_ms=now_ms,
            filters=body.filters,
            include_bots=body.include_bots,
            as_of=body.as_of,
            page=PageOptions(body.page, body.limit, body.order_by),
        ),
        dimensions=dimensions,
        metrics=metrics,
        conditions=compile_filters(body.filters),
        having=_having(body.having, metrics),
    )
    for i, term in enumerate(body.order_by):
        if term.field not in parsed.columns:
            where = f" in 'orderBy[{i}]'"
            raise Malformed(unknown_name_message("field", term.field, parsed.columns, where))
    return parsed


def _having(having: Sequence[Filter], metrics: Sequence[SelectedMetric]) -> Fragment:
    fields = {m.name: FilterField(ColumnType.DECIMAL, f"m{i}") for i, m in enumerate(metrics)}
    return compile_conditions(having, fields, "the metrics of the query", "having", "h")
