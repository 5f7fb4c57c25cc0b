"""The rollup plan of a custom query: what it counts of which event tables, where rollups can."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import UNSET, UnsetType, structs

from query.custom.request import CustomQueryBody
from query.custom.tables import ColumnScope, CustomColumn, CustomTable
from query.custom.validation import SelectedValue, ValidatedQuery
from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup_tables import FACTS, PAGES
from query.prepared.row_columns import ALL_ROWS, OTHER_ROWS, view_rows
from query.prepared.row_groups import CountedField, Group, RowGroups
from query.prepared.text_filters import NEGATIONS
from query.request.filter_struct import Filter, names_behavior, with_conditions
from query.request.filter_values import Value, decimal_of
from query.request.time_range import TimeRange
from query.scope.visits import BY_COLUMN
from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW_NAMES
from schemas.tables import EVENTS

NAME, PATH, OUTBOUND_DOMAIN = "name", "path", "outbound_domain"
AGGREGATES = {"count": False, "uniq": True}
"""Those that rollups have, and whether they count distinct values."""
IS_OUTBOUND = Filter(field=OUTBOUND_DOMAIN, operator="is_not_null")
"""What the table `outbound` has."""
NOT_OTHERS = frozenset((*PAGE_VIEW_NAMES, PAGE_EXIT))
"""Names of events that are neither custom events nor, mostly, outbound clicks."""
OF_ONE_KIND = (
    "; of one kind of events they have `path`: with a filter that `name` is `screen_view` or "
    "`pageview`, or that it is one of other names, of which they have `name`, `outbound_domain`, "
    "`href` and `link_text` too"
)


def rollup_plan_of(
    query: CustomQueryBody, plan: ValidatedQuery, time_range: TimeRange
) -> RowGroups:
    """The form of a query, which is valid; NotPrepared says why rollups cannot answer it."""
    table = plan.table
    if table.is_computed or table.table is not EVENTS:
        raise NotPrepared(f"rollups have the tables 'events' and 'outbound', not '{table.name}'")
    filters = [_renamed(each, table) for each in query.filters]
    filters += [IS_OUTBOUND] if table.where else []
    having = [_on_count(each, plan.outputs) for each in query.having]
    form = RowGroups(
        ALL_ROWS,
        tuple(_group(each) for each in plan.groups),
        tuple(_counted(each) for each in plan.selects),
        msgspec.json.encode(filters),
        msgspec.json.encode(having),
        time_range,
    )
    own = _with_source(form, filters)
    for field in own.fields:
        if not own.source.has_field(field):
            kind = OF_ONE_KIND if OTHER_ROWS.has_field(field) else ""
            raise NotPrepared(f"rollups do not have '{field}' of these rows{kind}")
    return own


def _group(column: CustomColumn) -> Group:
    return column.granularity or column.date_part or _field(column)


def _counted(select: SelectedValue) -> CountedField:
    name = select.aggregate.name
    if name not in AGGREGATES:
        raise NotPrepared(f"rollups have the aggregates {' and '.join(AGGREGATES)}, not '{name}'")
    field = None if select.column is None else _field(select.column)
    return CountedField(field, AGGREGATES[name])


def _field(column: CustomColumn) -> str:
    """The name that rollups have for a column."""
    if column.values or column.scope is ColumnScope.VISITOR:
        raise NotPrepared(f"rollups do not have '{column.name}'")
    return BY_COLUMN[column.sql].field if column.scope is ColumnScope.VISIT else column.sql


def _renamed(filter_: Filter, table: CustomTable) -> Filter:
    """The filter with the names that rollups have."""
    if names_behavior(filter_):
        raise NotPrepared("rollups do not have what visitors did")

    def renamed(condition: Filter) -> Filter:
        name = condition.field or ""
        if (column := table.column(name)) is None:
            raise NotPrepared(f"rollups do not have '{name}'")
        return structs.replace(condition, field=_field(column))

    return with_conditions(filter_, renamed)


def _on_count(filter_: Filter, outputs: Sequence[str]) -> Filter:
    """A condition on what is counted, with its position and the value as SQL compares it."""

    def on_count(condition: Filter) -> Filter:
        value = condition.value
        number = [*map(_number, value)] if isinstance(value, list) else _number(value)
        field = str(outputs.index(condition.field or ""))
        return structs.replace(condition, field=field, value=number)

    return with_conditions(filter_, on_count)


def _number(value: Value | UnsetType) -> float | UnsetType:
    """A number with ten decimals."""
    decimal = None if value is UNSET else decimal_of(value)
    return float(decimal) if isinstance(decimal, Decimal) else UNSET


def _with_source(form: RowGroups, filters: Sequence[Filter]) -> RowGroups:
    """The form of the rows that filters permit: of all, or of one kind of events."""
    names = [_names(each) for each in filters]
    of_views = frozenset(PAGE_VIEW_NAMES)
    if any(map(_is_of_others, filters)):
        return structs.replace(form, source=OTHER_ROWS)
    told = [each for each in names if each]
    found = told[0].intersection(*told) if told else frozenset()
    if not found or not found <= of_views:
        return form
    others = [each for each, own in zip(filters, names, strict=True) if not own]
    own = structs.replace(form, filters=msgspec.json.encode(others))
    table = PAGES if PATH in own.fields else FACTS
    first_name, second_name = (name in found for name in PAGE_VIEW_NAMES)
    source = view_rows(table, first_name=first_name, second_name=second_name)
    return structs.replace(own, source=source)


def _names(filter_: Filter) -> frozenset[str]:
    """The names of events that a filter on names alone permits; none when they are not told."""
    operator, value = filter_.operator or filter_.op, filter_.value
    if filter_.any_of is not None:
        of_parts = [_names(each) for each in filter_.any_of]
        return frozenset[str]().union(*of_parts) if all(of_parts) else frozenset()
    if filter_.field != NAME or operator not in ("eq", "in"):
        return frozenset()
    return frozenset(str(each) for each in (value if isinstance(value, list) else [value]))


def _is_of_others(filter_: Filter) -> bool:
    """Whether a filter permits only custom events and outbound clicks, which rollups have."""
    if names := _names(filter_):
        return names.isdisjoint(NOT_OTHERS)
    operator, value = filter_.operator or filter_.op or "", filter_.value
    if filter_.field == OUTBOUND_DOMAIN:
        return operator not in NEGATIONS  # these are met where there is none
    if filter_.field != NAME or operator != "not_in" or not isinstance(value, list):
        return False
    return {*NOT_OTHERS} <= {*value}
