"""Comparison: each row of a result beside its row in another time range, in JSON and in files.

In files each number of a row has the columns `previous_<name>`, `change_<name>` and
`change_percent_<name>`; a result by time also `previous_<name>` of the compared time.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from msgspec import Struct, structs

from query.formats.columns import ColumnKind, ResultColumn
from query.request.time_range import TimeRange
from schemas.runtime.clock import format_instant

HUNDREDTH = Decimal("0.01")
NUMBER_KINDS = (ColumnKind.INTEGER, ColumnKind.NUMBER)


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


def comparison_with(time_range: TimeRange, rows: Sequence[ComparedRow]) -> Comparison:
    """The comparison of rows with those of that time range."""
    return Comparison(format_instant(time_range.start_ms), format_instant(time_range.end_ms), rows)


def grown_row(
    numbers: Mapping[str, int | float | None], grown: Mapping[str, int | float | None]
) -> ComparedRow:
    """The change of a row without a previous one."""
    return ComparedRow(None, grown, dict.fromkeys(numbers))


def changed_row(
    numbers: Mapping[str, int | float | None], bases: Mapping[str, Any], previous: Any
) -> ComparedRow:
    """The change of numbers from those of the previous row, which is shown as `previous`.

    A ratio that is None in the previous row had nothing to divide by, and has no change.
    """
    change = {name: change_of(value, bases[name]) for name, value in numbers.items()}
    percent = {name: percent_of(change[name], bases[name]) for name in numbers}
    return ComparedRow(previous, change, percent)


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


def comparison_columns(
    times: Sequence[ResultColumn], numbers: Sequence[ResultColumn]
) -> list[ResultColumn]:
    """The columns of a comparison, for columns of the rows that are times and numbers."""
    columns = [ResultColumn(f"previous_{column.name}", column.kind) for column in times]
    for column in numbers:
        columns += [
            ResultColumn(f"previous_{column.name}", column.kind),
            ResultColumn(f"change_{column.name}", column.kind),
            ResultColumn(f"change_percent_{column.name}", ColumnKind.NUMBER),
        ]
    return columns


def comparison_values(
    compared: ComparedRow, times: Sequence[str], numbers: Sequence[str]
) -> list[Any]:
    """The values of those columns for one row, by the names that its fields have."""
    row = compared.previous or {}
    previous = structs.asdict(row) if isinstance(row, Struct) else row
    values = [previous.get(name) for name in times]
    for name in numbers:
        values += [
            previous.get(name),
            compared.change.get(name),
            compared.change_percent.get(name),
        ]
    return values
