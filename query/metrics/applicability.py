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
    """Malformed when the result, or the match of a comparison, needs too many buckets.

    Otherwise the rows are those with data, and only their number is limited.
    """
    compared = query.query.comparison_range
    if not query.is_series and compared is None:
        return
    ranges = [query.query.time_range, *([compared] if compared else [])]
    for dimension in query.dimensions:
        if dimension.time is None or (granularity := dimension.time.granularity) is None:
            continue
        if (count := max(one.point_count(granularity) for one in ranges)) <= MAX_POINTS:
            continue
        advice = (
            "; 'having' leaves only buckets with data, as in "
            "[{'field': 'events', 'operator': 'gt', 'value': 0}]"
        )
        needed = (
            f"a row for each of the {count:,} buckets of '{dimension.name}'"
            if compared is None
            else f"a match of the {count:,} buckets of '{dimension.name}' for 'compare'"
        )
        raise Malformed(
            f"The query needs {needed}; at most {MAX_POINTS:,} are allowed; use a shorter time "
            f"range or a coarser part of time{advice if compared is None else ''}"
        )
