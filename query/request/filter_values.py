"""Values of filters, as an engine compares them with a column of a type."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from schemas.tables import Type

MOST_NUMBER = 10**14
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
    """A number as a decimal; None when it is none, or out of bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -MOST_NUMBER <= value <= MOST_NUMBER:  # a whole number of any length has an answer here
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


MAKERS: Mapping[Type, Any] = {
    Type.STRING: _text,
    Type.LONG: _whole,
    Type.INTEGER: _whole,
    Type.DECIMAL: decimal_of,
    Type.BOOLEAN: _flag,
    Type.TIMESTAMP: _instant,
}

WANTED: Mapping[Type, str] = {
    Type.STRING: "text",
    Type.LONG: "a number of at most 63 bits",
    Type.INTEGER: "a number of at most 63 bits",
    Type.DECIMAL: "a number between -10^14 and 10^14",
    Type.BOOLEAN: "true or false",
    Type.TIMESTAMP: "an ISO 8601 instant or Unix milliseconds",
}
