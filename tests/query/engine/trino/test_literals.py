"""Values become literals, and nothing else."""

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from query.engine.trino.dialect import TrinoDialect
from query.engine.trino.literals import bind, json_path, literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (12, "12"),
        (-12, "-12"),
        (2**70, "DECIMAL '1180591620717411303424'"),
        (2.5, "DOUBLE '2.5'"),
        (1e100, "DOUBLE '1e+100'"),
        (Decimal("0.0001"), "DECIMAL '0.0001'"),
        ("it's", "'it''s'"),
        (date(2026, 11, 30), "DATE '2026-11-30'"),
        (
            datetime(2026, 11, 30, 0, 53, 20, 125000, UTC),
            "TIMESTAMP '2026-11-30 00:53:20.125000 UTC'",
        ),
        (["a", "b'"], "('a', 'b''')"),
        ([], "(NULL)"),
    ],
)
def test_each_type_has_one_form(value: object, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize("value", [inf, Decimal("NaN"), b"bytes", {"a": 1}])
def test_a_value_without_a_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        literal(value)


@given(st.text())
def test_text_stays_one_string_literal(text: str) -> None:
    statement = parse_one(f"SELECT {literal(text)} AS x", dialect=TrinoDialect)

    [value] = statement.find_all(exp.Literal)
    assert (value.name, value.is_string) == (text, True)


@given(st.text(alphabet="'\"$\\ab-;\n", max_size=12))
def test_a_bound_text_is_not_bound_again(text: str) -> None:
    bound = bind("SELECT $a, '$a', \"$a\", $b", {"a": text, "b": "last"})

    quoted = text.replace("'", "''")
    assert bound == f"SELECT '{quoted}', '$a', \"$a\", 'last'"


def test_a_name_without_a_value_is_a_bug() -> None:
    with pytest.raises(KeyError):
        bind("SELECT $a", {})


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/plan", '$["plan"]'),
        ("/a/b", '$["a"]["b"]'),
        ("/a~1b/c~0d", '$["a/b"]["c~d"]'),
        ('/"/\\', '$["\\""]["\\\\"]'),
    ],
)
def test_a_json_pointer_becomes_a_json_path(pointer: str, path: str) -> None:
    assert json_path(pointer) == path
    assert bind("x(AS_JSON_PATH($p))", {"p": pointer}) == f"x('{path}')"
