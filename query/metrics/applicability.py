"""Checks that the parts of a metrics query fit each other."""

from query.metrics.conditions import tables_with
from query.metrics.goal_filters import GOAL, PREFIX
from query.metrics.query import MetricsQuery
from query.request.filters import fields_named
from query.request.suggestions import shorten
from query.request.time_range import MAX_POINTS
from schemas.errors import Malformed


def check_tables(query: MetricsQuery) -> None:
    """Malformed when the rows of a metric do not have a dimension or a filtered field."""
    dimensions = {d.name: d.tables for d in query.dimensions}
    filtered = set().union(*map(fields_named, query.query.filters))
    shown = {name: GOAL if name.startswith(PREFIX) else name for name in filtered}
    fields = dimensions | {shown[name]: tables_with(name) for name in sorted(filtered)}
    for selected in query.metrics:
        for table in selected.metric.tables:
            for name, tables in fields.items():
                if table.name not in tables:
                    raise Malformed(
                        f"The metric '{selected.name}' is of table '{table.name}', whose rows have "
                        f"no '{shorten(name)}'; leave out one of them, or ask in two queries"
                    )


def check_points(query: MetricsQuery) -> None:
    """Malformed when the result has a row for every bucket, and there are too many.

    Otherwise the rows are those with data, and only their number is limited.
    """
    if not query.is_series:
        return
    count = query.query.time_range.point_count(query.by_buckets[0])
    if count > MAX_POINTS:
        raise Malformed(
            f"The query needs a row for each of the {count:,} buckets of "
            f"'{query.dimensions[0].name}'; at most {MAX_POINTS:,} are allowed; use a shorter "
            "time range or a coarser part of time; 'having' leaves only buckets with data, as in "
            "[{'field': 'events', 'operator': 'gt', 'value': 0}]"
        )
