"""Checks a custom query against our own tables: what leaves here names nothing that is not ours."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.custom import aggregates
from query.custom.aggregates import ANY, Aggregate, Gives
from query.custom.request import ALIAS, Query, Select
from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable
from query.engine.engine import Sql
from query.request.buckets import GRANULARITIES, Granularity
from query.request.filters import Field, conditions
from query.request.property_path import COLUMN, is_property, property_of
from query.request.suggestions import unknown
from schemas.errors import Malformed
from schemas.tables import Type

TIME = "time:"
"""Put before a granularity, it is a group: the bucket, called `date`."""


class Chosen(Struct, frozen=True):
    """One value to compute; `column` is None for `*`."""

    aggregate: Aggregate
    column: CustomColumn | None
    alias: str


class Sorted(Struct, frozen=True):
    """One term of the order: the position of an output, groups first."""

    position: int
    descending: bool


class Plan(Struct, frozen=True):
    """A custom query that is sound."""

    table: CustomTable
    groups: tuple[CustomColumn, ...]
    selects: tuple[Chosen, ...]
    where: Sql
    having: Sql
    """Conditions on the outputs, which are called `o` and their position."""
    order: tuple[Sorted, ...]

    @property
    def granularity(self) -> Granularity | None:
        """That of the time bucket that it is grouped by."""
        return next((group.granularity for group in self.groups if group.granularity), None)

    @property
    def outputs(self) -> Sequence[str]:
        """Keys of the result rows, in the order of the SQL's columns."""
        return [*(group.name for group in self.groups), *(each.alias for each in self.selects)]


def check(query: Query) -> Plan:
    """The plan of a query; Malformed names what is wrong with it."""
    table = CUSTOM_TABLES.get(query.table)
    if table is None:
        raise Malformed(unknown("table", query.table, CUSTOM_TABLES))
    groups = tuple(
        _group(name, table, f"query.groupBy[{i}]", f"g{i}_path")
        for i, name in enumerate(query.group_by)
    )
    selects = tuple(_chosen(s, table, f"query.selects[{i}]") for i, s in enumerate(query.selects))
    outputs = [*(group.name for group in groups), *(each.alias for each in selects)]
    for name in outputs:
        if outputs.count(name) > 1:
            raise Malformed(f"'{name}' names two columns of the result; give one an alias")
    where = conditions(query.filters, table.fields, f"table '{table.name}'", "query.filters")
    having = conditions(
        query.having, _results(selects, len(groups)), "the result", "query.having", "h"
    )
    return Plan(table, groups, selects, where, having, _order(query, outputs))


def _group(name: str, table: CustomTable, at: str, bound: str) -> CustomColumn:
    if name.startswith(TIME):
        granularity = GRANULARITIES.get(name.removeprefix(TIME))
        if granularity is None:
            known = [f"{TIME}{each}" for each in Granularity]
            raise Malformed(unknown("time bucket", name, known, f" in '{at}'"))
        return CustomColumn("date", Type.STRING, "", "", granularity=granularity)
    return _column(name, table, at, bound)


def _column(
    name: str, table: CustomTable, at: str, bound: str, *, number: bool = False
) -> CustomColumn:
    """The column, or the property, which is a number where it is counted as one."""
    if is_property(name) and table.column(COLUMN):
        found = property_of(name, bound, at)
        type_, sql = (Type.DECIMAL, found.number) if number else (Type.STRING, found.text)
        return CustomColumn(name, type_, "", sql, {found.bound: found.pointer})
    column = table.column(name)
    if column is None:
        known = table.fields
        raise Malformed(unknown("column", name, known, f" in table '{table.name}'"))
    return column


def _chosen(select: Select, table: CustomTable, at: str) -> Chosen:
    if select.alias is not None and not ALIAS.fullmatch(select.alias):
        raise Malformed(
            f"'{at}.alias' must be a letter or '_' and up to 62 more letters, digits or '_'"
        )
    aggregate = aggregates.BY_NAME.get(select.aggregate)
    if aggregate is None:
        known = aggregates.BY_NAME
        raise Malformed(unknown("aggregate", select.aggregate, known, f" in '{at}'"))
    if select.field == "*":
        if aggregate.name != "count":
            raise Malformed(f"'{at}': '{aggregate.name}' needs a column; only 'count' takes '*'")
        return Chosen(aggregate, None, select.alias or "count_all")
    number = aggregate.fits is not ANY
    bound = re.sub(r"\W", "_", at) + "_path"
    column = _column(select.field, table, f"{at}.field", bound, number=number)
    if column.type not in aggregate.fits:
        raise Malformed(
            f"'{at}': '{aggregate.name}' does not fit column '{column.name}', "
            f"which is {column.type.value}"
        )
    named = re.sub(r"\W", "_", f"{aggregate.name}_{column.name}")
    return Chosen(aggregate, column, select.alias or named)


def _results(selects: Sequence[Chosen], groups: int) -> Mapping[str, Field]:
    """What `having` may name."""
    return {
        each.alias: Field(_type(each), f"o{groups + i}", in_ms=True)
        for i, each in enumerate(selects)
    }


def _type(each: Chosen) -> Type:
    if each.aggregate.gives is Gives.SAME and each.column is not None:
        return each.column.type
    return Type.DECIMAL


def _order(query: Query, outputs: Sequence[str]) -> tuple[Sorted, ...]:
    """What was asked, else the first alias descending; then every group, so that it is total."""
    groups = len(query.group_by)
    asked = [Sorted(groups, descending=True)]
    if query.order_by:
        asked = []
        for i, term in enumerate(query.order_by):
            if term.field not in outputs:
                known = unknown("field", term.field, outputs, f" in 'query.orderBy[{i}]'")
                raise Malformed(known)
            asked.append(Sorted(outputs.index(term.field), term.direction == "desc"))
    return (*asked, *(Sorted(position, descending=False) for position in range(groups)))
