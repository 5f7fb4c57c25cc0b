"""Binds values: each `$name` of a statement becomes a literal of ClickHouse."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from query.engine.trino.literals import bound, keys_of
from tests.conformance.clickhouse.dialect import AS_KEYS

TOKEN = re.compile(
    r"(?P<quoted>'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`[^`]*`)"
    rf"|{AS_KEYS}\(\$(?P<path>\w+)\)"
    r"|\$(?P<name>\w+)"
)


def bind(text: str, values: Mapping[str, object]) -> str:
    """The statement with a literal in place of each name."""
    return bound(
        text, values, TOKEN, literal, lambda pointer: ", ".join(map(literal, keys_of(pointer)))
    )


def literal(value: object) -> str:
    """A literal; a list is what stands after IN."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(literal, value)) or 'NULL'})"
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, datetime):
        return f"toDateTime64('{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}', 6, 'UTC')"
    if isinstance(value, date):
        return f"toDate('{value.isoformat()}')"
    if isinstance(value, Decimal):
        return f"toDecimal128('{value:f}', {max(0, -int(value.as_tuple().exponent))})"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else f"toInt128('{value}')"
    return f"toFloat64('{value!r}')"
