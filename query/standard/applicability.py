"""Refuses what a query type cannot use, instead of ignoring it.

A member of a parameter is for its query type alone, and fails that query. A member of the body is
for all parameters, and is refused when none of their types can use it.
"""

from collections.abc import Sequence

from query.request.buckets import Granularity
from query.request.filters import compile_conditions
from query.request.query import Query
from query.scope.visitor_sets import visitor_target
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import requested_range
from query.standard.query_types import QUERY_TYPES, find_query_type
from query.standard.scope import filterable_fields
from schemas.errors import Malformed

DATE_MEMBERS = ("start_date", "end_date", "preset")


def uses_granularity(query_type: QueryType) -> bool:
    """Whether the granularity of a request decides the buckets of the type's rows."""
    example = query_type.statement(query_type.example)
    return query_type.starts_with_time and example.granularity is None


def check_own_members(query: Query) -> None:
    """Malformed when the parameter of the query has a member that its type cannot use."""
    query_type = find_query_type(query.name, query.subject.kind)
    if "granularity" in query.own_members and not uses_granularity(query_type):
        raise Malformed(f"'{query.path}.granularity': {_no_series(query_type)}")
    for member in DATE_MEMBERS:
        if member in query.own_members and query_type.time_range_override is not requested_range:
            raise Malformed(
                f"'{query.path}.{member}': query type '{query_type.name}' has a fixed time range"
            )
    limit = query.page.limit or 0
    if "limit" in query.own_members and limit > query_type.max_limit:
        raise Malformed(
            f"'{query.path}.limit' is {limit:,}; query type '{query_type.name}' has at most "
            f"{query_type.max_limit:,} rows on a page"
        )
    table = query_type.table  # compiled with the filters of the body later; here for the path
    path = f"{query.path}.filters"
    compile_conditions(
        query.own_filters,
        filterable_fields(table),
        f"table '{table.name}'",
        path,
        visitors=visitor_target(table),
    )


def check_body_members(
    queries: Sequence[Query], granularity: Granularity, limit: int | None
) -> None:
    """Malformed when no query type of the request can use a member of the body.

    The default granularity is always taken: clients send it with every request.
    """
    types = [
        query_type
        for query in queries
        if (query_type := QUERY_TYPES.get(query.name)) and query_type.subject is query.subject.kind
    ]
    if not types:
        return
    if granularity is not Granularity.DAILY and not any(map(uses_granularity, types)):
        reason = _no_series(types[0]) if len(types) == 1 else "no query type of it is a time series"
        raise Malformed(f"'granularity' is of no use for this request: {reason}; leave it out")
    most = max(query_type.max_limit for query_type in types)
    if limit is not None and limit > most:
        names = ", ".join(query_type.name for query_type in types[:5])
        raise Malformed(f"'limit' is {limit:,}; at most {most:,} rows are on a page of {names}")


def _no_series(query_type: QueryType) -> str:
    if query_type.starts_with_time:
        return f"query type '{query_type.name}' has time buckets of its own; see its options"
    return f"query type '{query_type.name}' is not a time series"
