"""Converts filter values to the type of their column."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from schemas.tables import ColumnType

MAX_NUMBER = 10**14
INT64 = range(-(2**63), 2**63)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Value = str | int | float | bool | None


def _text(value: Value) -> object:
    return value if isinstance(value, str) else None


def _whole(value: Value) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if value in INT64 else None
    return decimal_of(value)


def decimal_of(value: Value) -> object:
    """A number as a decimal; None if it is not a number, or out of range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -MAX_NUMBER <= value <= MAX_NUMBER:  # also for integers of any length
        return None
    return Decimal(repr(value)).quantize(Decimal("1e-10"))


def _flag(value: Value) -> object:
    return value if isinstance(value, bool) else None


def _instant(value: Value) -> object:
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        pass
    return None


CONVERTERS: Mapping[ColumnType, Any] = {
    ColumnType.STRING: _text,
    ColumnType.LONG: _whole,
    ColumnType.INTEGER: _whole,
    ColumnType.DECIMAL: decimal_of,
    ColumnType.BOOLEAN: _flag,
    ColumnType.TIMESTAMP: _instant,
}

EXPECTED: Mapping[ColumnType, str] = {
    ColumnType.STRING: "text",
    ColumnType.LONG: "a number of at most 63 bits",
    ColumnType.INTEGER: "a number of at most 63 bits",
    ColumnType.DECIMAL: "a number between -10^14 and 10^14",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: "an ISO 8601 instant or Unix milliseconds",
}
