"""Amounts of money: what is read, and what may mean two numbers."""

import json

import duckdb
import pytest

from query.engine.duckdb_dialect import DuckDBDialect
from query.request.amounts import amount_sql
from query.request.property_path import parse_property
from query.sql.portable import parse

READ = {
    49.9: 49.9,
    -3: -3.0,
    "49.90": 49.9,
    "49,90": 49.9,
    "12": 12.0,
    "-5,00": -5.0,
    "$-5.10": -5.1,
    "-€3": -3.0,
    "0.299": 0.299,
    "1234.567": 1234.567,
    "1,299.00": 1299.0,
    "1.299,00 €": 1299.0,
    "1\u00a0299,50\u00a0€": 1299.5,
    "EUR 1 299": 1299.0,
    "1'299.00 CHF": 1299.0,
    "1.299.000": 1299000.0,
    "1,299,000.5": 1299000.5,
}
NO_AMOUNTS = (
    *("1.299", "1,299", "1,29,9", "1.299.00", "12 13", "--5", "10-5", "free", "12 apples", ""),
    *("\u0661\u0662", "1e5", "NaN", "9" * 120, 1e308, True, None, [1], {"a": 1}),
)


def test_amounts_are_read_where_they_mean_one_number() -> None:
    property_ = parse_property("properties.total", "path", "property")
    currency = "CAST(NULL AS VARCHAR)"
    sql = parse(f"SELECT {amount_sql(property_, currency)} FROM (SELECT $json AS properties)").sql(
        dialect=DuckDBDialect
    )
    with duckdb.connect() as connection:

        def amount(value: object) -> float | None:
            bound = {"json": json.dumps({"total": value}), "path": property_.pointer}
            [found] = connection.execute(sql, bound).fetchone() or [None]
            return found

        assert {text: amount(text) for text in READ} == pytest.approx(READ)
        assert [amount(value) for value in NO_AMOUNTS] == [None] * len(NO_AMOUNTS)


@pytest.mark.parametrize(
    ("text", "currency", "read"),
    [
        ("$5", "USD", True),
        ("$5", "EUR", False),
        ("5 USD", "EUR", False),
        ("5,00 €", "EUR", True),
        ("EUR 5 USD", "EUR", False),
        ("5", "EUR", True),
        ("¥5", "JPY", True),
        ("5 CHF", "CHF", True),
    ],
)
def test_an_amount_whose_text_names_another_currency_is_none(
    text: str, currency: str, read: bool
) -> None:
    property_ = parse_property("properties.total", "path", "property")
    sql = parse(
        f"SELECT {amount_sql(property_, '$currency')} FROM (SELECT $json AS properties)"
    ).sql(dialect=DuckDBDialect)
    bound = {"json": json.dumps({"total": text}), "path": property_.pointer, "currency": currency}
    with duckdb.connect() as connection:
        [found] = connection.execute(sql, bound).fetchone() or [None]

    assert found == (5.0 if read else None)
