"""DuckDB answers each function of portable SQL as its docstring says."""

from typing import Any

import duckdb
import pytest

from query.engine.duckdb_dialect import FUNCTIONS, DuckDBDialect
from query.sql import portable
from query.sql.portable import parse

ROWS = "(VALUES (2, 'b'), (1, NULL), (3, 'c')) AS v(k, x)"
JSON = '{"n": 1.5, "t": "text", "f": false, "deep": {"k": [1]}}'


def value(expression: str, source: str = "(SELECT 1)", **values: Any) -> Any:
    text = parse(f"SELECT {expression}").sql(dialect=DuckDBDialect)
    [[result]] = duckdb.connect().execute(f"{text} FROM {source}", values).fetchall()
    return result


def test_every_function_has_a_form_for_duckdb() -> None:
    assert set(FUNCTIONS) == set(portable.FUNCTIONS)


def test_first_and_last_values_may_be_null() -> None:
    assert value("FIRST_BY(x, k)", ROWS) is None
    assert value("LAST_BY(x, k)", ROWS) == "c"
    assert value("FIRST_BY(x, k) FILTER (WHERE k > 1)", ROWS) == "b"


@pytest.mark.parametrize(("a", "b", "expected"), [(7, 2, 3), (6, 3, 2), (0, 5, 0)])
def test_an_integer_division_cuts_the_fraction(a: int, b: int, expected: int) -> None:
    assert value("INT_DIV(1 + $a - 1, $b)", a=a, b=b) == expected


def test_integers_of_128_bits_do_not_overflow() -> None:
    assert value("CAST(9223372036854775807 AS INT128) * 4") == 9223372036854775807 * 4


def test_a_quantile_is_interpolated() -> None:
    assert value("EXACT_QUANTILE(k, 0.25)", ROWS) == 1.5


def test_an_instant_is_in_milliseconds() -> None:
    assert value("UNIX_MS(CAST('2026-11-01 00:00:00.125+00' AS TIMESTAMPTZ))") == 1793491200125


@pytest.mark.parametrize("name", ["IN_LIST", "IN_LONG_LIST"])
def test_a_list_is_one_bound_value(name: str) -> None:
    assert value(f"{name}('a', $listed)", listed=["a", "b"]) is True
    assert value(f"{name}('c', $listed)", listed=["a", "b"]) is False
    assert value(f"NOT {name}('c', $listed)", listed=["a", "b"]) is True


@pytest.mark.parametrize(
    ("pointer", "text", "number", "boolean"),
    [
        ("/n", "1.5", True, False),
        ("/t", "text", False, False),
        ("/f", "false", False, True),
        ("/deep/k", "[1]", False, False),
        ("/none", None, None, None),
    ],
)
def test_a_property_is_read_by_its_pointer(
    pointer: str, text: str | None, number: bool | None, boolean: bool | None
) -> None:
    source = "(SELECT $json AS properties)"
    bound = {"json": JSON, "p": pointer}

    assert value("PROPERTY_TEXT(properties, $p)", source, **bound) == text
    assert value("PROPERTY_IS_NUMBER(properties, $p)", source, **bound) is number
    assert value("PROPERTY_IS_BOOLEAN(properties, $p)", source, **bound) is boolean


def test_the_end_of_a_text_is_compared_by_characters() -> None:
    assert value("ENDS_WITH('grüße', $end)", end="üße") is True
    assert value("ENDS_WITH('grüße', $end)", end="ue") is False
