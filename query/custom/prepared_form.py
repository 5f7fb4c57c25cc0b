"""The prepared form of a custom query: what it counts of which rows of parts, where parts can."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import UNSET, UnsetType, structs

from query.custom.request import CustomQueryBody
from query.custom.tables import ColumnScope, CustomColumn, CustomTable
from query.custom.validation import SelectedValue, ValidatedQuery
from query.prepared.part_tables import FACTS, PAGES
from query.prepared.row_groups import CountedField, Group, RowGroups
from query.prepared.row_sources import ALL_ROWS, OTHER_ROWS, view_rows
from query.request.filter_struct import Filter, names_behavior, with_conditions
from query.request.filter_values import Value, decimal_of
from query.request.time_range import TimeRange
from query.scope.visits import BY_COLUMN
from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW_NAMES
from schemas.tables import EVENTS

NAME, PATH = "name", "path"
AGGREGATES = {"count": False, "uniq": True}
"""Those that parts have, and whether they count distinct values."""
IS_OUTBOUND = Filter(field="outbound_domain", operator="is_not_null")
"""What the table `outbound` has."""


class _Untold(Exception):
    """Parts do not have what a query names."""


def prepared_form(
    query: CustomQueryBody, plan: ValidatedQuery, time_range: TimeRange
) -> RowGroups | None:
    """The form of a query, which is valid; None when parts cannot answer it."""
    if plan.table.is_computed or plan.table.table is not EVENTS:
        return None
    try:
        filters = [_renamed(each, plan.table) for each in query.filters]
        filters += [IS_OUTBOUND] if plan.table.where else []
        having = [_on_count(each, plan.outputs) for each in query.having]
        form = RowGroups(
            ALL_ROWS,
            tuple(_group(each) for each in plan.groups),
            tuple(_counted(each) for each in plan.selects),
            msgspec.json.encode(filters),
            msgspec.json.encode(having),
            time_range,
        )
    except _Untold:
        return None
    return _with_source(form, filters)


def _group(column: CustomColumn) -> Group:
    return column.granularity or column.date_part or _field(column)


def _counted(select: SelectedValue) -> CountedField:
    if select.aggregate.name not in AGGREGATES:
        raise _Untold
    field = None if select.column is None else _field(select.column)
    return CountedField(field, AGGREGATES[select.aggregate.name])


def _field(column: CustomColumn | None) -> str:
    """The name that parts have for a column."""
    if column is None or column.values:
        raise _Untold
    return BY_COLUMN[column.sql].field if column.scope is ColumnScope.VISIT else column.sql


def _renamed(filter_: Filter, table: CustomTable) -> Filter:
    """The filter with the names that parts have."""
    if names_behavior(filter_):
        raise _Untold

    def renamed(condition: Filter) -> Filter:
        return structs.replace(condition, field=_field(table.column(condition.field or "")))

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


def _with_source(form: RowGroups, filters: Sequence[Filter]) -> RowGroups | None:
    """The form of the rows that it counts; None when parts cannot tell its fields of them."""
    found = next(filter(None, map(_names, filters)), None)
    if found is None:
        is_outbound = IS_OUTBOUND in filters
        own = structs.replace(form, source=OTHER_ROWS) if is_outbound else form
    elif found.isdisjoint((*PAGE_VIEW_NAMES, PAGE_EXIT)):
        own = structs.replace(form, source=OTHER_ROWS)
    elif found <= {*PAGE_VIEW_NAMES}:
        others = [each for each in filters if _names(each) != found]
        own = structs.replace(form, filters=msgspec.json.encode(others))
        table = PAGES if PATH in own.fields else FACTS
        first_name, second_name = (name in found for name in PAGE_VIEW_NAMES)
        source = view_rows(table, first_name=first_name, second_name=second_name)
        own = structs.replace(own, source=source)
    else:
        return None
    return own if all(map(own.source.may_tell, own.fields)) else None


def _names(filter_: Filter) -> frozenset[str] | None:
    """The names of events that a filter permits; None when it is not on names alone."""
    operator, value = filter_.operator or filter_.op, filter_.value
    if filter_.field != NAME or operator not in ("eq", "in"):
        return None
    return frozenset(str(each) for each in (value if isinstance(value, list) else [value]))
