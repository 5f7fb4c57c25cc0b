"""How Trino writes each function of portable SQL; `tests/conformance` runs it."""

import pytest
from sqlglot import parse_one

from query.engine.trino.dialect import FUNCTIONS, TrinoDialect
from query.sql import portable
from query.sql.portable import parse


def written(expression: str) -> str:
    text = parse(f"SELECT {expression}").sql(dialect=TrinoDialect)
    assert parse_one(text, dialect=TrinoDialect).sql(dialect=TrinoDialect)
    return text.removeprefix("SELECT ")


def test_every_function_has_a_form_for_trino() -> None:
    assert set(FUNCTIONS) == set(portable.FUNCTIONS)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("FIRST_BY(x, k) FILTER (WHERE k > 1)", "MIN_BY(x, k) FILTER(WHERE k > 1)"),
        ("LAST_BY(x, k)", "MAX_BY(x, k)"),
        ("INT_DIV(a, b)", "(((a) - (a) % (b)) / (b))"),
        ("CAST(x AS INT128)", "CAST(x AS DECIMAL(38, 0))"),
        ("IN_LIST(x, $listed)", "(x IN $listed)"),
        ("IN_LONG_LIST(x, $listed)", "(x IN $listed)"),
        (
            "UNIX_MS(ts)",
            "DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts)",
        ),
        (
            "PROPERTY_TEXT(properties, $p)",
            "COALESCE(JSON_EXTRACT_SCALAR(properties, AS_JSON_PATH($p)), NULLIF(JSON_FORMAT("
            "JSON_EXTRACT(properties, AS_JSON_PATH($p))), 'null'))",
        ),
        (
            "PROPERTY_IS_NUMBER(properties, $p)",
            "REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(properties, AS_JSON_PATH($p))), '^-?[0-9]')",
        ),
        ("REPLACE_MATCHES(x, '[^0-9]', '')", "REGEXP_REPLACE(x, '[^0-9]', '')"),
        (r"REPLACE_MATCHES(x, '(a)b', '\1$')", r"REGEXP_REPLACE(x, '(a)b', '$1\$')"),
        ("REGEXP_MATCHES(x, '[0-9]$')", "REGEXP_LIKE(x, '[0-9]$')"),
        (
            "AVG(x) FILTER (WHERE x > 1)",
            "(CAST(SUM(x) FILTER(WHERE x > 1) AS DOUBLE)"
            " / NULLIF(COUNT(x) FILTER(WHERE x > 1), 0))",
        ),
        ("GREATEST(a, $b)", "COALESCE(GREATEST(a, $b), a, $b)"),
        ("ENDS_WITH(a, $b)", "(SUBSTR(a, LENGTH(a) - LENGTH($b) + 1) = $b)"),
        ("(a = 1) IS NOT TRUE", "NOT ((a = 1) IS NOT DISTINCT FROM TRUE)"),
        ("a IS NULL", "(a IS NULL)"),
        ("a / b", "CAST(a AS DOUBLE) / b"),
    ],
)
def test_a_function_is_written_as_trino_has_it(expression: str, text: str) -> None:
    assert written(expression) == text


def test_a_quantile_is_read_from_the_sorted_values() -> None:
    text = written("EXACT_QUANTILE(x, 0.25) FILTER (WHERE k > 1)")

    assert "ARRAY_SORT(ARRAY_AGG(x) FILTER(WHERE k > 1))" in text


def test_relations_are_never_materialized() -> None:
    text = parse("WITH a AS NOT MATERIALIZED (SELECT 1 AS n) SELECT n FROM a")

    assert "MATERIALIZED" not in text.sql(dialect=TrinoDialect)
