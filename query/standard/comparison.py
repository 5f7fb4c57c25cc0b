"""Comparison: each row of a result beside its row in another time range.

Buckets of a series are matched by their position in the time range, rows with text by that text,
totals as they are.
"""

from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from query.engine.engine import Row
from query.prepared.not_prepared import NotPrepared
from query.request.query import PageOptions
from query.request.time_range import SeriesPoint
from query.response.worker_threads import run_in_worker
from query.sql.result_forms import RowsOfKeys
from query.standard.declaration.fields import PLAIN_FIELD, field_specs
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement, requested_range
from query.standard.execute import QueryResult, execute, with_nested_lists
from query.standard.prepared_query import PreparedQuery
from query.standard.sql.breakdown import chosen_values, with_values
from schemas.errors import Malformed
from schemas.runtime.clock import format_instant

HUNDREDTH = Decimal("0.01")
ALL_ROWS = PageOptions(limit=10_000)


class ComparedRow(Struct, frozen=True, rename="camel"):
    """The change of one row; the percentage is null where the previous value is 0 or absent."""

    previous: Any
    """The other row: a struct or an object; None without one."""
    change: Mapping[str, int | float | None]
    change_percent: Mapping[str, float | None]


class Comparison(Struct, frozen=True, rename="camel"):
    """The other time range (UTC, end excluded), and one entry for each row of the result."""

    start: str | None
    end: str | None
    rows: Sequence[ComparedRow]


async def compare(
    prepared: PreparedQuery, result: QueryResult, points: Sequence[SeriesPoint]
) -> Comparison:
    """The rows of the result beside those of the prepared query, which has the other time range.

    `points` are the buckets of the requested time range, for a type whose rows begin with one.
    """
    query_type = prepared.query_type
    check_comparable(prepared)
    prepared = msgspec.structs.replace(prepared, nothing_is_none=True)
    previous_rows = await _previous_rows(prepared, result, points)
    compared = partial(
        _compare_rows, result.rows, previous_rows, absent_is_zero=not query_type.series
    )
    rows = await run_in_worker(len(previous_rows), compared)
    time_range = prepared.time_range
    return Comparison(format_instant(time_range.start_ms), format_instant(time_range.end_ms), rows)


def check_comparable(prepared: PreparedQuery) -> None:
    """Malformed for a type whose time range is its own."""
    if prepared.statement.time_range_override is not requested_range:
        raise Malformed(
            f"Query type '{prepared.query_type.name}' has a fixed time range and does not support "
            "'compare'"
        )


async def comparison_statement(prepared: PreparedQuery) -> Statement:
    """The statement for the other time range: its groups are those of the requested one."""
    chosen = chosen_values(prepared.statement)
    if chosen is None:
        return prepared.statement
    return with_values(prepared.statement, [value for (value,) in await prepared.fetch(chosen)])


def _compare_rows(
    rows: Sequence[Struct], previous_rows: Sequence[Struct | None], *, absent_is_zero: bool
) -> Sequence[ComparedRow]:
    return [
        compare_row(row, previous, absent_is_zero=absent_is_zero)
        for row, previous in zip(rows, previous_rows, strict=True)
    ]


def compare_row(
    row: Struct, previous: Struct | None, *, absent_is_zero: bool = True
) -> ComparedRow:
    """The change of one row; with `absent_is_zero`, the counts of an absent row were 0.

    A ratio that is None in the previous row had nothing to divide by, and has no change.
    """
    numbers = {n: v for n, v in msgspec.structs.asdict(row).items() if _is_number(v)}
    if previous is None:
        specs = field_specs(type(row))
        change = {
            n: v if absent_is_zero and (isinstance(v, int) or specs[n].is_count) else None
            for n, v in numbers.items()
        }
        return ComparedRow(None, change, dict.fromkeys(numbers))
    bases = {name: getattr(previous, name) for name in numbers}
    changes = {name: change_of(value, bases[name]) for name, value in numbers.items()}
    percents = {name: percent_of(changes[name], bases[name]) for name in numbers}
    return ComparedRow(_with_zeros(previous), changes, percents)


def _with_zeros(row: Struct) -> Struct:
    """The row as results show it: a ratio of nothing is 0."""
    ratios = [name for name, spec in field_specs(type(row)).items() if spec.is_of_nothing]
    zeros = {name: 0.0 for name in ratios if getattr(row, name) is None}
    return msgspec.structs.replace(row, **zeros) if zeros else row


async def _previous_rows(
    prepared: PreparedQuery, result: QueryResult, points: Sequence[SeriesPoint]
) -> Sequence[Struct | None]:
    query_type = prepared.query_type
    keys = key_fields(query_type)
    if query_type.series:
        return _rows_at(await _all_rows(prepared), result.positions)
    if query_type.starts_with_time:
        rows = await _all_rows(prepared)
        return _match_by_point(rows, prepared.points, result.rows, points, keys)
    if not keys:
        return _rows_at(await _all_rows(prepared), range(len(result.rows)))
    rows_in_python = prepared.statement.rows_in_python
    rows = await (
        _all_rows(prepared) if rows_in_python else _rows_of_keys(prepared, result, keys[0])
    )
    by_key = {tuple(getattr(row, key) for key in keys): row for row in reversed(rows)}
    return [by_key.get(tuple(getattr(row, key) for key in keys)) for row in result.rows]


def _match_by_point(
    previous_rows: Sequence[Struct],
    previous_points: Sequence[SeriesPoint],
    rows: Sequence[Struct],
    points: Sequence[SeriesPoint],
    keys: Sequence[str],
) -> Sequence[Struct | None]:
    """The previous row of each row: of the bucket at the same position, and of the same text."""
    previous_keys = _point_keys(previous_rows, previous_points, keys)
    by_key = dict(zip(previous_keys, previous_rows, strict=True))
    return [by_key.get(key) for key in _point_keys(rows, points, keys)]


def _point_keys(
    rows: Sequence[Struct], points: Sequence[SeriesPoint], keys: Sequence[str]
) -> Sequence[tuple[object, ...]]:
    position = {point.label: i for i, point in enumerate(points)}
    texts = [tuple(getattr(row, key) for key in keys) for row in rows]
    labels = [msgspec.structs.astuple(row)[0] for row in rows]
    return [(position.get(label), *text) for label, text in zip(labels, texts, strict=True)]


def _rows_at(rows: Sequence[Struct], positions: Sequence[int]) -> Sequence[Struct | None]:
    return [rows[position] if position < len(rows) else None for position in positions]


async def _all_rows(prepared: PreparedQuery) -> Sequence[Struct]:
    query = msgspec.structs.replace(prepared.query, page=ALL_ROWS)
    return (await execute(msgspec.structs.replace(prepared, query=query))).rows


async def _rows_of_keys(prepared: PreparedQuery, result: QueryResult, key: str) -> Sequence[Struct]:
    """Rows of the other time range with a text that the result shows, however low they rank.

    They come in the type's own order; of several with the same texts the first one counts.
    """
    values = sorted({value for row in result.rows if (value := getattr(row, key)) is not None})
    sql_columns = list(prepared.query_type.sql_columns)
    columns = tuple(f"c{i}" for i in range(len(sql_columns)))
    narrowed = msgspec.structs.replace(
        prepared.statement,
        form=RowsOfKeys(columns=columns, key=columns[sql_columns.index(key)]),
        values={**prepared.statement.values, "keys": values},
    )
    try:
        known = await prepared.prepared_rows()
        wanted, column = frozenset(values), sql_columns.index(key)
        having = partial(_having, known, column, wanted)
        rows: Sequence[Row] = await run_in_worker(len(known), having)
    except NotPrepared:
        rows = await prepared.fetch_labelled(narrowed)
    return await with_nested_lists(
        prepared, await run_in_worker(len(rows), partial(prepared.to_rows, rows))
    )


def _having(rows: Sequence[Row], column: int, wanted: Collection[object]) -> list[Row]:
    """The rows with one of these texts in a column."""
    return [row for row in rows if row[column] in wanted]


def key_fields(query_type: QueryType) -> Sequence[str]:
    """The fields that identify a row: its text, and what else the type declares."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(query_type.row)}
    return [
        name
        for name, spec in field_specs(query_type.row).items()
        if spec.is_key or (spec is PLAIN_FIELD and kinds[name] in (str, str | None))
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def change_of(value: object, base: object) -> int | float | None:
    """How much more a value is, as exact as what is shown; None where one of them is none."""
    if not isinstance(value, int | float) or not isinstance(base, int | float):
        return None
    if isinstance(value, int) and isinstance(base, int):
        return value - base
    return float(Decimal(repr(value)) - Decimal(repr(base)))


def percent_of(change: float | None, base: object) -> float | None:
    """A change in percent of the value before; None where that is 0 or absent."""
    if change is None or not isinstance(base, int | float) or base == 0:
        return None
    exact = Decimal(repr(change)) * 100 / abs(Decimal(repr(base)))
    return float(exact.quantize(HUNDREDTH, ROUND_HALF_UP))
