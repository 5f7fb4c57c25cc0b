"""Validates a custom query against the declared tables; its output holds no names of a request."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.custom.request import ALIAS, CustomQueryBody, SelectTerm
from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable, tables_read
from query.request.buckets import GRANULARITIES, Granularity
from query.request.date_parts import DatePart
from query.request.filters import FilterField, compile_conditions
from query.request.property_path import PROPERTIES_COLUMN, is_property, parse_property
from query.request.suggestions import (
    AGGREGATE_WORDS,
    TIME_WORDS,
    unknown_column_message,
    unknown_name_message,
)
from query.run.groups import OutputOrder
from query.sql import aggregates
from query.sql.aggregates import ALL_TYPES, Aggregate, ResultType
from query.sql.fragment import Fragment
from schemas.errors import Malformed
from schemas.tables import ColumnType, Table

TIME_PREFIX = "time:"
"""Prefix of a time group in `groupBy`.

Before a granularity, whose result column is `date`, or before a date part, whose result column has
the name of the part.
"""
TIME_GROUPS = tuple(f"{TIME_PREFIX}{name}" for name in (*Granularity, *DatePart))


class SelectedValue(Struct, frozen=True):
    """One value to compute; `column` is None for `*`."""

    aggregate: Aggregate
    column: CustomColumn | None
    alias: str


class ValidatedQuery(Struct, frozen=True):
    """A validated custom query."""

    table: CustomTable
    groups: tuple[CustomColumn, ...]
    selects: tuple[SelectedValue, ...]
    where: Fragment
    having: Fragment
    """Conditions on the outputs, which are named `o` and their position."""
    order: tuple[OutputOrder, ...]

    @property
    def granularity(self) -> Granularity | None:
        """Granularity of the time bucket in `groupBy`."""
        return next((group.granularity for group in self.groups if group.granularity), None)

    @property
    def tables(self) -> Sequence[Table]:
        """The stored tables that it reads, its own first."""
        columns = [*self.groups, *(s.column for s in self.selects if s.column is not None)]
        return tables_read(self.table, columns, self.where)

    @property
    def outputs(self) -> Sequence[str]:
        """Keys of the result rows, in the order of the SQL's columns."""
        return [*(group.name for group in self.groups), *(select.alias for select in self.selects)]


def validate(query: CustomQueryBody) -> ValidatedQuery:
    """The validated query; Malformed names the field and the rule."""
    table = CUSTOM_TABLES.get(query.table)
    if table is None:
        raise Malformed(unknown_name_message("table", query.table, CUSTOM_TABLES))
    groups = tuple(
        _group(name, table, f"query.groupBy[{i}]", f"g{i}_path")
        for i, name in enumerate(query.group_by)
    )
    selects = tuple(
        _selected_value(s, table, f"query.selects[{i}]") for i, s in enumerate(query.selects)
    )
    selected = [select.alias for select in selects]
    outputs = [*(group.name for group in groups), *selected]
    for name in outputs:
        if outputs.count(name) > 1:
            advice = "give one an alias" if name in selected else "name it once in 'query.groupBy'"
            raise Malformed(f"'{name}' names two columns of the result; {advice}")
    where = compile_conditions(
        query.filters,
        table.fields,
        f"table '{table.name}'",
        "query.filters",
        visitors=table.visitors,
    )
    having = compile_conditions(
        query.having, _result_fields(selects, len(groups)), "the result", "query.having", "h"
    )
    return ValidatedQuery(table, groups, selects, where, having, _order(query, outputs))


def _group(name: str, table: CustomTable, at: str, bound: str) -> CustomColumn:
    if name.startswith(TIME_PREFIX):
        return _time_group(name, at)
    return _column(name, table, at, bound)


def _time_group(name: str, at: str) -> CustomColumn:
    kind = name.removeprefix(TIME_PREFIX)
    if kind in GRANULARITIES:
        return CustomColumn("date", ColumnType.STRING, "", "", granularity=GRANULARITIES[kind])
    if kind in list(DatePart):
        return CustomColumn(kind, ColumnType.INTEGER, "", "", date_part=DatePart(kind))
    words = {TIME_PREFIX + word: TIME_PREFIX + bucket for word, bucket in TIME_WORDS.items()}
    message = unknown_name_message("time bucket", name, TIME_GROUPS, f" in '{at}'", words=words)
    raise Malformed(message)


def _column(
    name: str, table: CustomTable, at: str, bound: str, *, number: bool = False
) -> CustomColumn:
    """The column, or the property; `number` selects the numeric value of a property."""
    if is_property(name) and table.column(PROPERTIES_COLUMN):
        property_ = parse_property(name, bound, at)
        type_, sql = (
            (ColumnType.DECIMAL, property_.number)
            if number
            else (ColumnType.STRING, property_.text)
        )
        return CustomColumn(name, type_, "", sql, {property_.parameter: property_.pointer})
    column = table.column(name)
    if column is None:
        where = f" in table '{table.name}', at '{at}'"
        raise Malformed(unknown_column_message(name, table.fields, where))
    return column


def _selected_value(select: SelectTerm, table: CustomTable, at: str) -> SelectedValue:
    if select.alias is not None and not ALIAS.fullmatch(select.alias):
        raise Malformed(
            f"'{at}.alias' must start with a letter or '_' and have at most 63 letters, digits "
            "or '_'"
        )
    aggregate = aggregates.BY_NAME.get(select.aggregate)
    if aggregate is None:
        known = aggregates.BY_NAME
        raise Malformed(
            unknown_name_message(
                "aggregate", select.aggregate, known, f" in '{at}'", words=AGGREGATE_WORDS
            )
        )
    if select.field == "*":
        if aggregate.name != "count":
            raise Malformed(f"'{at}': '{aggregate.name}' needs a column; only 'count' takes '*'")
        return SelectedValue(aggregate, None, select.alias or "count_all")
    number = aggregate.types is not ALL_TYPES
    bound = re.sub(r"\W", "_", at) + "_path"
    column = _column(select.field, table, f"{at}.field", bound, number=number)
    if column.type not in aggregate.types:
        raise Malformed(
            f"'{at}': '{aggregate.name}' does not fit column '{column.name}', "
            f"which is {column.type.value}"
        )
    default_alias = re.sub(r"\W", "_", f"{aggregate.name}_{column.name}")
    return SelectedValue(aggregate, column, select.alias or default_alias)


def _result_fields(selects: Sequence[SelectedValue], groups: int) -> Mapping[str, FilterField]:
    """The fields that `having` may name."""
    return {
        select.alias: FilterField(_type(select), f"o{groups + i}", in_ms=True)
        for i, select in enumerate(selects)
    }


def _type(select: SelectedValue) -> ColumnType:
    if select.aggregate.result is ResultType.SAME and select.column is not None:
        return select.column.type
    return ColumnType.DECIMAL


def _order(query: CustomQueryBody, outputs: Sequence[str]) -> tuple[OutputOrder, ...]:
    """`orderBy`, else the first alias descending; then every group, so that the order is total."""
    groups = len(query.group_by)
    terms = [OutputOrder(groups, descending=True)]
    if query.order_by:
        terms = []
        for i, term in enumerate(query.order_by):
            if term.field not in outputs:
                message = unknown_name_message(
                    "field", term.field, outputs, f" in 'query.orderBy[{i}]'"
                )
                raise Malformed(message)
            terms.append(OutputOrder(outputs.index(term.field), term.direction == "desc"))
    return (*terms, *(OutputOrder(position, descending=False) for position in range(groups)))
