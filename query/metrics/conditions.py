"""Filters of a metrics query as conditions on the rows of each table that it reads."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from query.metrics.dimensions import DATE_PARTS
from query.metrics.fields import (
    ALL_TABLES,
    FIELDS,
    READ_TABLES,
    TABLES_WITH_PROPERTIES,
    TABLES_WITH_TIME,
)
from query.metrics.goal_filters import goal_conditions
from query.request.date_parts import date_part_sql
from query.request.filters import Filter, FilterField, compile_each, fields_named
from query.request.property_path import is_property, is_trait
from query.request.time_range import TimeRange
from query.scope.visitor_sets import visitor_target
from query.sql.fragment import Fragment, all_of, merge_values
from schemas.registry import SavedRecords
from schemas.tables import EVENTS, LEDGER, SESSIONS, ColumnType, Table

PLACE = "a metrics query"
"""Where a field is unknown, in error texts."""


class RowConditions(Struct, frozen=True):
    """Filters as conditions: on the rows, and on the visits alone."""

    where: Fragment = Fragment()
    visit_where: Fragment = Fragment()
    session_where: Fragment = Fragment()
    """`visit_where` for rows of the prepared table of sessions."""


NO_GOALS: Mapping[str, Fragment] = {}
NOTHING_SAVED = SavedRecords()
VISIT_FIELDS = frozenset(field.name for field in FIELDS.values() if field.of_visit)


def filter_fields(
    table: Table, time_range: TimeRange, goals: Mapping[str, Fragment] = NO_GOALS
) -> Mapping[str, FilterField]:
    """What filters may name, as expressions over the stored rows of a table."""
    parts = _date_parts(time_range)
    return {
        **FIELDS_BY_TABLE[table.name],
        **{name: FilterField(ColumnType.INTEGER, part.text) for name, part in parts.items()},
        **{name: FilterField(ColumnType.BOOLEAN, goal.text) for name, goal in goals.items()},
    }


def _stored_fields(table: Table) -> dict[str, FilterField]:
    return {f.name: FilterField(f.type, f.condition_sql(table), f.in_ms) for f in FIELDS.values()}


FIELDS_OF_SESSION = _stored_fields(SESSIONS.table)
FIELDS_BY_TABLE = {table.name: _stored_fields(table) for table in (*READ_TABLES, LEDGER)}


def _date_parts(time_range: TimeRange) -> Mapping[str, Fragment]:
    """Parts of the local time of a stored row."""
    return {
        name: date_part_sql("UNIX_MS(ts)", time_range, part).with_prefix(f"{part}_")
        for name, part in DATE_PARTS.items()
    }


def compile_filters(
    filters: Sequence[Filter],
    time_range: TimeRange,
    table: Table = EVENTS,
    saved: SavedRecords = NOTHING_SAVED,
) -> RowConditions:
    """The filters as conditions; one that names facts of visits only is on the visits.

    `saved` has the goals that filters name.
    """
    if not filters:
        return RowConditions()
    named = set().union(*map(fields_named, filters))
    goals = goal_conditions(named, saved)
    fields = filter_fields(table, time_range, goals)
    compiled = compile_each(filters, fields, PLACE, visitors=visitor_target(table))
    of_visit = [fields_named(filter_) <= VISIT_FIELDS for filter_ in filters]
    where = all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if not visit))
    visit_where = all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if visit))
    of_session = [visit and not visit_where.visitor_sets for visit in of_visit]
    computed = {**_date_parts(time_range), **goals}
    own = merge_values(where.values, *(computed[n].values for n in sorted(named & {*computed})))
    return RowConditions(
        where=structs.replace(where, values=own),
        visit_where=visit_where,
        session_where=all_of(*compile_each(filters, FIELDS_OF_SESSION, PLACE, only=of_session)),
    )


def tables_with(field: str) -> frozenset[str]:
    """The tables whose rows have a field that is known, or a property."""
    if field in DATE_PARTS:
        return TABLES_WITH_TIME
    if is_trait(field):
        return ALL_TABLES
    if is_property(field):
        return TABLES_WITH_PROPERTIES
    return FIELDS[field].tables if field in FIELDS else frozenset((EVENTS.name,))
