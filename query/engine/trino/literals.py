"""Binds values: each `$name` of a statement becomes a literal of its type.

Trino has no binary form of parameters: its own drivers write them as literals, too. A value never
becomes SQL, because each type has one form here: text is quoted, and in a string literal of Trino
nothing but the quote is special (no escapes, no variables); all others are written from the parsed
value. Names in string literals and in quoted identifiers of the statement are not replaced.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite

from query.engine.trino.dialect import AS_PATH

TOKEN = re.compile(
    r"(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    rf"|{AS_PATH}\(\$(?P<path>\w+)\)"
    r"|\$(?P<name>\w+)"
)


def bind(text: str, values: Mapping[str, object]) -> str:
    """The statement with a literal in place of each name."""
    return bound(text, values, TOKEN, literal, lambda pointer: literal(json_path(pointer)))


def bound(
    text: str,
    values: Mapping[str, object],
    token: re.Pattern[str],
    write: Callable[[object], str],
    write_path: Callable[[str], str],
) -> str:
    """As `bind`, in the form of an engine: `token` finds what is `quoted`, a `path` or a `name`."""

    def literal_of(match: re.Match[str]) -> str:
        if match["quoted"]:
            return match["quoted"]
        if match["path"]:
            return write_path(str(values[match["path"]]))
        return write(values[match["name"]])

    return token.sub(literal_of, text)


def literal(value: object) -> str:
    """A literal; a list is what stands after IN."""
    if isinstance(value, list | tuple):
        # IN () is not SQL; nothing is in a list that has only NULL.
        return f"({', '.join(map(literal, value)) or 'NULL'})"
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return _number(value)


def _number(value: object) -> str:
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else f"DECIMAL '{value}'"
    if isinstance(value, float) and isfinite(value):
        return f"DOUBLE '{value!r}'"
    if isinstance(value, Decimal) and value.is_finite():
        return f"DECIMAL '{value:f}'"
    raise TypeError(f"no literal for a value of type {type(value).__name__}")


def json_path(pointer: str) -> str:
    """The JSON path of a JSON pointer: `/a/b` is `$["a"]["b"]`."""
    return "$" + "".join(f"[{json.dumps(key, ensure_ascii=False)}]" for key in keys_of(pointer))


def keys_of(pointer: str) -> list[str]:
    """The keys of a JSON pointer (RFC 6901), from the outermost."""
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
