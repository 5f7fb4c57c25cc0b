"""Checks a custom query against our own tables: what leaves here names nothing that is not ours."""

from collections.abc import Sequence

from msgspec import Struct

from query.custom import aggregates
from query.custom.aggregates import Aggregate
from query.custom.requests import ALIAS, Query, Select
from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable
from query.engine import Sql
from query.filters import conditions
from query.suggest import unknown
from schemas.failures import Malformed


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
    order: tuple[Sorted, ...]

    @property
    def outputs(self) -> Sequence[str]:
        """Keys of the result rows, in the order of the SQL's columns."""
        return [*(group.name for group in self.groups), *(each.alias for each in self.selects)]


def check(query: Query) -> Plan:
    """The plan of a query; Malformed names what is wrong with it."""
    table = CUSTOM_TABLES.get(query.table)
    if table is None:
        raise Malformed(unknown("table", query.table, CUSTOM_TABLES))
    groups = tuple(_column(name, table) for name in query.group_by)
    selects = tuple(_chosen(s, table, f"query.selects[{i}]") for i, s in enumerate(query.selects))
    outputs = [*query.group_by, *(each.alias for each in selects)]
    for name in outputs:
        if outputs.count(name) > 1:
            raise Malformed(f"'{name}' names two columns of the result; give one an alias")
    where = conditions(query.filters, table.fields, f"table '{table.name}'", "query.filters")
    return Plan(table, groups, selects, where, _order(query, outputs))


def _column(name: str, table: CustomTable) -> CustomColumn:
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
    column = _column(select.field, table)
    if column.type not in aggregate.fits:
        raise Malformed(
            f"'{at}': '{aggregate.name}' does not fit column '{column.name}', "
            f"which is {column.type.value}"
        )
    return Chosen(aggregate, column, select.alias or f"{aggregate.name}_{column.name}")


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
