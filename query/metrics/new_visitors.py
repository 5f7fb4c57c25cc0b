"""New visitors by time: those whose first event ever is in the bucket of the row."""

from collections.abc import Sequence

from msgspec import structs

from query.metrics.dimensions import Dimension
from query.metrics.metric import Part
from query.request.time_range import TimeRange
from query.scope.scope import MS
from query.scope.visitor_facts import FIRST_SEEN, IS_NEW
from query.sql.portable import names_in


def new_in_buckets(part: Part, dimensions: Sequence[Dimension], time_range: TimeRange) -> Part:
    """The part for rows that are grouped by buckets of time, with new visitors in one bucket each.

    Any other part, and one that is not grouped by buckets, is returned as it is.
    """
    buckets = [(i, d) for i, d in enumerate(dimensions) if d.time and d.time.granularity]
    if not buckets or IS_NEW.column not in names_in(part.sql):
        return part
    conditions, values = [IS_NEW.column], dict(part.values)
    for position, dimension in buckets:
        first = dimension.at(FIRST_SEEN.column, time_range, position).with_prefix("first_")
        values |= first.values
        conditions.append(f"{first.text} = {dimension.at(MS, time_range, position).text}")
    is_new = f"({' AND '.join(conditions)})"
    return structs.replace(part, sql=part.sql.replace(IS_NEW.column, is_new), values=values)
