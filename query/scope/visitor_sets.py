"""Sets of visitors by what they did: `has_done` and `has_not_done` in filters.

A set is read from the events of the same subject, without the filters of the query. Its relation
has each visitor once and stands in front of the rows that a condition keeps by it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from query.request.filters import FilterField, VisitorTarget
from query.request.time_range import TimeRange
from query.scope.path_columns import path_fields
from query.scope.profiles import profile_fields
from query.scope.visitor_facts import VISITOR_FACT_FIELDS
from query.scope.visits import row_source_fields, visit_fields, website_fields
from query.sql.fragment import Fragment, VisitorSet
from query.sql.select import Cte
from schemas.tables import CLICKS, EVENTS, Table

VISITOR = "visitor_hash"
FIRST_MS, END_MS = 0, 4_102_444_800_000
"""All that can be stored: from 1970 to the end of 2099."""


@cache
def event_fields() -> Mapping[str, FilterField]:
    """What the filters of a behavior may name: as in filters on events."""
    columns = {c.name: FilterField(c.type, c.name) for c in EVENTS.columns if c.public}
    of_path = path_fields(EVENTS)
    of_row = {**columns, **of_path, **website_fields(EVENTS), **row_source_fields(EVENTS)}
    return {**of_row, **visit_fields(EVENTS), **profile_fields(), **VISITOR_FACT_FIELDS}


def visitor_target(table: Table, column: str = VISITOR) -> VisitorTarget | None:
    """For filters on what visitors did; None for a table without visitors of a website."""
    if table is CLICKS or table.column(VISITOR) is None:
        return None
    return VisitorTarget(column, event_fields())


def all_time(zone: str) -> TimeRange:
    """The time range of all that is stored."""
    return TimeRange(FIRST_MS, END_MS, zone)


def distinct_sets(conditions: Iterable[Fragment]) -> Sequence[VisitorSet]:
    """The sets that conditions name, each once."""
    return list({each.name: each for where in conditions for each in where.visitor_sets}.values())


def rows_name(visitors: VisitorSet) -> str:
    """The relation with the events that count for a set."""
    return f"{visitors.name}_rows"


def visitor_set_cte(visitors: VisitorSet) -> Cte:
    """The visitors of a set, from the events that count for it."""
    often = f"HAVING COUNT(*) >= {visitors.times}" if visitors.times > 1 else ""
    sql = f"""
        SELECT {VISITOR} AS {visitors.column}
          FROM {rows_name(visitors)}
         WHERE {VISITOR} IS NOT NULL
         GROUP BY {VISITOR}
        {often}
    """  # noqa: S608
    return Cte(visitors.name, sql)
