"""Visits as sources of parts: each with its dimensions, its entry, its exit, its page views.

A visit is whole: `visit_rows` has all its rows in the time range. It has the values of a dimension
that its rows in `scoped` have, one or several; its part of time is that of its first page view. A
fact of the visit has one value, which is read from `visit_facts` for each visit, not for each row.
"""

from collections.abc import Mapping, Sequence

from query.metrics.dimensions import Dimension
from query.metrics.metric import Source
from query.request.time_range import TimeRange
from query.scope.session_rows import MERGED_MEASURES, PAGE_VIEWS
from query.scope.visits import VISIT_FACTS
from query.sql.row_definitions import PAGE_VIEW, first_value, last_value
from query.sql.select import Cte
from query.standard.sql.definitions import DURATION_MS, OTHER_COUNT, VIEW_COUNT

VISIT_SOURCES: Mapping[Source, str] = {
    Source.VISITS: "visit_groups",
    Source.RANKED_VISITS: "ranked_visit_groups",
    Source.ENTRIES: "entry_groups",
    Source.EXITS: "exit_groups",
    Source.VISIT_VIEWS: "visit_view_groups",
}
"""The relation that each source groups by `d0`, `d1`, ..."""

MEASURES = "page_views, other_events, duration_ms"


def visit_ctes(
    time_range: TimeRange, dimensions: Sequence[Dimension], sources: Sequence[Source]
) -> list[Cte]:
    """The CTE `visits`, and the relations that these sources group."""
    ends = {
        Source.ENTRIES: ("entry", first_value),
        Source.EXITS: ("exit", last_value),
    }
    end_columns = "".join(
        f",\n{value(d.sql)} FILTER (WHERE {PAGE_VIEW}) AS {name}_{i}"
        for source, (name, value) in ends.items()
        if source in sources
        for i, d in enumerate(dimensions)
        if d.is_of_row
    )
    ctes = [Cte("visits", _visits(end_columns))]
    if {Source.VISITS, Source.RANKED_VISITS} & {*sources}:
        ctes += _visit_groups(time_range, dimensions)
    if Source.RANKED_VISITS in sources:
        ctes.append(_ranked_visit_groups(len(dimensions)))
    for source, (name, _) in ends.items():
        if source in sources:
            keys = _keys(time_range, dimensions, f"{name}_{{}}") or ["1 AS placeholder"]
            sql = f"SELECT {', '.join(keys)} FROM visits{_facts_join(dimensions)}"  # noqa: S608
            ctes.append(Cte(VISIT_SOURCES[source], sql))
    if Source.VISIT_VIEWS in sources:
        ctes.append(_visit_view_groups(time_range, dimensions))
    return ctes


def _visits(end_columns: str) -> str:
    if not end_columns:
        return f"""
            SELECT session_hash AS session_key,
                   {MERGED_MEASURES},
                   MIN(view_ms) FILTER (WHERE page_views > 0) AS started_ms
              FROM session_rows
             GROUP BY session_hash
            HAVING {PAGE_VIEWS} > 0
        """  # noqa: S608
    return f"""
        SELECT session_hash AS session_key,
               {VIEW_COUNT} AS page_views,
               {OTHER_COUNT} AS other_events,
               {DURATION_MS} AS duration_ms,
               MIN(CASE WHEN {PAGE_VIEW} THEN ms END) AS started_ms{end_columns}
          FROM visit_rows
         WHERE session_hash IS NOT NULL
         GROUP BY session_hash
        HAVING {VIEW_COUNT} > 0
    """  # noqa: S608


def _visit_groups(time_range: TimeRange, dimensions: Sequence[Dimension]) -> list[Cte]:
    """A row for each visit and each combination of values that it has."""
    of_rows = [f"{d.sql} AS key_{i}" for i, d in enumerate(dimensions) if d.is_of_row]
    keys = _keys(time_range, dimensions, "key_{}")
    columns = ", ".join([*keys, MEASURES])
    facts_join = _facts_join(dimensions)
    if not of_rows:
        return [Cte("visit_groups", f"SELECT {columns} FROM visits{facts_join}")]  # noqa: S608
    values = f"""
        SELECT DISTINCT session_hash AS keyed_session, {", ".join(of_rows)}
          FROM scoped
         WHERE session_hash IS NOT NULL
    """  # noqa: S608
    groups = f"""
        SELECT {columns}
          FROM visit_keys
          JOIN visits ON session_key = keyed_session{facts_join}
    """  # noqa: S608
    return [Cte("visit_keys", values), Cte("visit_groups", groups)]


def _ranked_visit_groups(keys: int) -> Cte:
    columns = ", ".join(f"d{i}" for i in range(keys))
    partition = f"PARTITION BY {columns}" if keys else ""
    listed = f"{columns}, " if keys else ""
    return Cte(
        "ranked_visit_groups",
        f"""
        SELECT {listed}duration_ms,
               ROW_NUMBER() OVER ({partition} ORDER BY duration_ms) AS row_rank,
               COUNT(*) OVER ({partition})                     AS row_count
          FROM visit_groups
        """,  # noqa: S608
    )


def _visit_view_groups(time_range: TimeRange, dimensions: Sequence[Dimension]) -> Cte:
    """A row for each page view of a visit."""
    keys = _keys(time_range, dimensions) or ["1 AS placeholder"]
    of_visits = any(not d.is_of_row for d in dimensions)
    join = " JOIN visits ON session_key = session_hash" if of_visits else ""
    return Cte(
        "visit_view_groups",
        f"""
        SELECT {", ".join(keys)}
          FROM visit_rows{join}{_facts_join(dimensions)}
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
        """,  # noqa: S608
    )


def _facts_join(dimensions: Sequence[Dimension]) -> str:
    """The join of `visits` with facts, where a dimension is one."""
    if not any(d.fact for d in dimensions):
        return ""
    return f" LEFT JOIN {VISIT_FACTS} ON visit_session = session_key"


def _keys(time_range: TimeRange, dimensions: Sequence[Dimension], of_row: str = "") -> list[str]:
    """The dimensions over `visits`; of rows from columns named by position, or as they are."""
    return [
        f"{d.at('started_ms', time_range, i).text if d.time else _key(d, i, of_row)} AS d{i}"
        for i, d in enumerate(dimensions)
    ]


def _key(dimension: Dimension, position: int, of_row: str) -> str:
    if dimension.fact:
        return f"{VISIT_FACTS}.{dimension.fact.sql_column}"
    return of_row.format(position) or dimension.sql
