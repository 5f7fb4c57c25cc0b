"""Filters on texts: they choose rows of a result that is grouped by them, or of a table of rollups.

They keep what the same filters in SQL keep: a condition on NULL is not met, and its negation is.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any, TypeAlias

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.rollup_tables import label
from query.prepared.rollup_view import RollupView
from query.request.filter_struct import Filter, fields_named, names_behavior

Values: TypeAlias = Sequence[Any]
Keeps: TypeAlias = Callable[[Values], bool]
"""Whether a row is kept, from its texts."""
OfRows: TypeAlias = Callable[[str, Numbers], Numbers]
"""The flag of each row, by the number of its value of a column."""
NumberedValues: TypeAlias = tuple[Numbers, Values]
"""The number of each row's value, and the values by number."""

OF_VALUE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": eq,
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
    "in": lambda text, values: text in values,
    "contains": lambda text, value: value in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "is_not_null": lambda *_: True,
}
"""By operator: what holds of a text, or a number, and a value. NULL meets none of them."""
NEGATIONS = {"ne": "eq", "not_in": "in", "not_contains": "contains", "is_null": "is_not_null"}
"""Operators that are met where another one is not, NULL included."""

MAX_EVALUATIONS = 500_000
"""Conditions times texts: a tenth of a second in Python. SQL takes less for more of them."""


class CostlyFilters(Exception):
    """Filters have too many conditions for the texts that they would be told of."""


def keeps_all(filters: Sequence[Filter], positions: Mapping[str, int]) -> Keeps | None:
    """All filters, which are valid; None when they name more than the fields at these positions."""
    known = positions.keys()
    if any(names_behavior(each) or not fields_named(each) <= known for each in filters):
        return None
    parts = [_keeps(each, positions) for each in filters]
    return lambda texts: all(part(texts) for part in parts)


def _keeps(filter_: Filter, positions: Mapping[str, int]) -> Keeps:
    if filter_.all_of is not None:
        parts = [_keeps(each, positions) for each in filter_.all_of]
        return lambda texts: all(part(texts) for part in parts)
    if filter_.any_of is not None:
        parts = [_keeps(each, positions) for each in filter_.any_of]
        return lambda texts: any(part(texts) for part in parts)
    if filter_.none_of is not None:
        inner = _keeps(filter_.none_of, positions)
        return lambda texts: not inner(texts)
    return _condition(filter_, positions)


def _condition(filter_: Filter, positions: Mapping[str, int]) -> Keeps:
    name = filter_.operator or filter_.op or ""
    if name in NEGATIONS:
        plain = _plain(filter_, NEGATIONS[name], positions)
        return lambda texts: not plain(texts)
    return _plain(filter_, name, positions)


def _plain(filter_: Filter, operator: str, positions: Mapping[str, int]) -> Keeps:
    holds, at = OF_VALUE[operator], positions[filter_.field or ""]
    value = frozenset(filter_.value) if isinstance(filter_.value, list) else filter_.value
    return lambda texts: (text := texts[at]) is not None and holds(text, value)


def check_evaluations(filters: Sequence[Filter], columns: Mapping[str, Values]) -> None:
    """CostlyFilters when the columns have too many values for the conditions of all filters."""
    fields = [field for each in filters for field in condition_fields(each)]
    if sum(len(columns[field]) for field in fields) > MAX_EVALUATIONS:
        raise CostlyFilters


class RowFilter:
    """Filters on columns of texts or numbers; each condition is told once for each value."""

    def __init__(self, filters: Sequence[Filter], columns: Mapping[str, Values]) -> None:
        """With the values of the columns; CostlyFilters when they are too many."""
        check_evaluations(filters, columns)
        self._filters = filters
        self._columns = columns
        self._known_flags: dict[int, Numbers] = {}

    def kept(self, row_count: int, of_rows: OfRows) -> Numbers:
        """Which rows meet all filters."""
        return self._meet_all(self._filters, row_count, of_rows)

    def _meet_all(self, filters: Sequence[Filter], row_count: int, of_rows: OfRows) -> Numbers:
        kept = np.ones(row_count, np.bool_)
        for each in filters:
            kept &= self._meets(each, row_count, of_rows)
        return kept

    def _meets(self, filter_: Filter, row_count: int, of_rows: OfRows) -> Numbers:
        if filter_.all_of is not None:
            return self._meet_all(filter_.all_of, row_count, of_rows)
        if filter_.any_of is not None:
            met = np.zeros(row_count, np.bool_)
            for each in filter_.any_of:
                met |= self._meets(each, row_count, of_rows)
            return met
        if filter_.none_of is not None:
            return ~self._meets(filter_.none_of, row_count, of_rows)
        return of_rows(filter_.field or "", self._flags(filter_))

    def _flags(self, condition: Filter) -> Numbers:
        """By the number of a value whether it meets a condition."""
        if id(condition) not in self._known_flags:
            field = condition.field or ""
            keeps = _condition(condition, {field: 0})
            met = [keeps((value,)) for value in self._columns[field]]
            self._known_flags[id(condition)] = np.array(met, np.bool_)
        return self._known_flags[id(condition)]


def rows_kept(
    columns: Mapping[str, NumberedValues], row_count: int, filters: Sequence[Filter]
) -> Numbers:
    """Which rows meet all filters, which name these columns; CostlyFilters as above."""
    row_filter = RowFilter(filters, {name: values for name, (_, values) in columns.items()})
    return row_filter.kept(row_count, lambda name, flags: flags[columns[name][0]])


def condition_fields(filter_: Filter) -> Sequence[str]:
    """The field of each condition of a filter; one for each time that it is named."""
    inner = (*(filter_.all_of or ()), *(filter_.any_of or ()))
    inner = (*inner, filter_.none_of) if filter_.none_of is not None else inner
    if not inner:
        return [filter_.field or ""]
    return [field for each in inner for field in condition_fields(each)]


def condition_count(filters: Sequence[Filter]) -> int:
    """The conditions of all filters."""
    return sum(len(condition_fields(each)) for each in filters)


def rows_that_meet(joined: RollupView, table: str, filters: Sequence[Filter]) -> Numbers:
    """Which rows of a table meet filters, which name columns of texts that it has."""
    names = set[str]().union(*map(fields_named, filters))
    if keeps_all(filters, dict.fromkeys(names, 0)) is None:
        raise ValueError("filters on other fields than texts of the table")
    columns = {name: joined.text_numbers(table, label(name)) for name in names}
    [row_count] = {len(numbers) for numbers, _ in columns.values()}
    return rows_kept(columns, row_count, filters)


def kept_shares(rows: Sequence[Row], text_count: int, keeps: Keeps) -> Sequence[Row] | None:
    """The rows that are kept, with the share of their visitors among those that remain.

    None where it matters whether a text that is empty is NULL, which rows do not tell apart but in
    their first text.
    """
    kept = []
    for row in rows:
        texts = row[:text_count]
        is_kept = keeps(texts)
        if "" in texts[1:] and keeps((texts[0], *(each or None for each in texts[1:]))) != is_kept:
            return None
        if is_kept:
            kept.append(row)
    whole = sum(row[-2] for row in kept)
    return [(*row[:-1], whole) for row in kept]
