"""Hypothesis strategies for metrics queries."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import strategies as st
from msgspec import Struct

from query.metrics.dimensions import INSTANT_BUCKETS
from query.metrics.fields import FIELDS
from query.metrics.metrics import BY_NAME
from schemas.tables import ColumnType
from tests.oracle.behaviors import behaviors
from tests.oracle.custom_query_strategies import orders, websites
from tests.oracle.filters import FilterJson
from tests.oracle.metric_values import METRICS
from tests.oracle.metrics import MetricsQuery
from tests.oracle.metrics_groups import BUCKETS
from tests.oracle.profiles import TRAIT
from tests.oracle.query_strategies import ZONES, filters_of_columns, grouped_filters
from tests.oracle.random_traffic import Stage

TIMES = (*BUCKETS, "hour_of_day", "day_of_week")
COMPARED = {"Pacific/Apia": None}
"""Comparison by zone; none in Apia, which skipped a day: as many days before are not comparable."""
COUNTS = ("visitors", "page_views", "events", "visits", "entries", "exits", "bounce_rate")


class NamedField(Struct, frozen=True):
    """A field that filters may name."""

    name: str
    type: ColumnType


OF_EVENTS = [
    name for name in sorted(METRICS) if {t.name for t in BY_NAME[name].tables} == {"events"}
]


@st.composite
def metrics_queries(draw: st.DrawFn, stage: Stage) -> MetricsQuery:
    """Any metrics by any dimensions."""
    start = stage.day + timedelta(days=draw(st.integers(-1, 1)))
    names = draw(st.sampled_from((OF_EVENTS, sorted(METRICS))))
    metrics = draw(st.lists(st.sampled_from(names), min_size=1, max_size=6, unique=True))
    tables = {table.name for name in metrics for table in BY_NAME[name].tables}
    fields = [field for field in FIELDS.values() if tables <= field.tables]
    dimensions = draw(
        st.lists(st.sampled_from(sorted(field.name for field in fields)), max_size=2, unique=True)
    )
    if draw(st.integers(0, 3)) == 0:
        dimensions.append(draw(st.sampled_from(sorted(INSTANT_BUCKETS))))
    if draw(st.booleans()):
        time = f"time:{draw(st.sampled_from(TIMES))}"
        dimensions.insert(draw(st.integers(0, len(dimensions))), time)
    filtered = [NamedField(field.name, field.type) for field in fields]
    filtered.append(NamedField(TRAIT, ColumnType.STRING))
    filtered += [NamedField(f"time:{part}", ColumnType.INTEGER) for part in TIMES[-2:]]
    return MetricsQuery(
        metrics=metrics,
        dimensions=dimensions,
        start=start,
        end=start + timedelta(days=draw(st.integers(0, 2))),
        filters=draw(
            st.lists(
                grouped_filters(st.one_of(filters_of_columns(filtered), behaviors)), max_size=2
            )
        ),
        subject=draw(websites),
        having=draw(havings(metrics)),
        order_by=draw(orders([*(n for n in dimensions if n not in metrics), *metrics])),
        zone=draw(st.sampled_from((stage.zone, *ZONES))),
        limit=draw(st.sampled_from((None, None, None, 1, 3))),
        page=draw(st.sampled_from((1, 1, 1, 2))),
        include_bots=draw(st.booleans()),
        person=draw(st.sampled_from(("device", "device", "profile"))),
        compare=draw(st.sampled_from((None, None, COMPARED.get(stage.zone, "previous_period")))),
    )


def havings(metrics: Sequence[str]) -> st.SearchStrategy[list[FilterJson]]:
    """Conditions on metrics, or none."""
    compared = [name for name in metrics if name in COUNTS]
    if not compared:
        return st.just([])
    single = st.fixed_dictionaries(
        {
            "field": st.sampled_from(compared),
            "operator": st.sampled_from(("eq", "ne", "gt", "gte", "lt", "lte", "is_not_null")),
            "value": st.sampled_from((0, 1, 2, 50, 33.33, 66.67)),
        }
    ).map(_without_useless_value)
    return st.lists(grouped_filters(single), max_size=1)


def _without_useless_value(condition: FilterJson) -> FilterJson:
    if condition["operator"] != "is_not_null":
        return condition
    return {name: value for name, value in condition.items() if name != "value"}
