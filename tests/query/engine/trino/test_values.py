"""Values of Trino's JSON as Python values."""

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isnan

from query.engine.trino.client import Page, TrinoColumn
from query.engine.trino.values import rows_of


def page(types: list[str], *rows: list[object]) -> Page:
    return Page([TrinoColumn(f"c{i}", type_) for i, type_ in enumerate(types)], rows, 0)


def test_values_are_those_that_duckdb_gives() -> None:
    types = ["bigint", "varchar(3)", "decimal(38,0)", "decimal(18,4)", "date", "boolean"]
    types.append("timestamp(3) with time zone")
    row = [7, "abc", "12", "0.5000", "2026-11-30", True, "2026-11-30 00:53:20.125 UTC"]

    assert rows_of(page(types, row, [None] * 7)) == [
        (
            *(7, "abc", 12, Decimal("0.5"), date(2026, 11, 30), True),
            datetime(2026, 11, 30, 0, 53, 20, 125000, UTC),
        ),
        (None,) * 7,
    ]


def test_numbers_that_json_does_not_have_are_text() -> None:
    [(value, plain)] = rows_of(page(["double", "double"], ["NaN", 1.5]))

    assert isnan(value)
    assert plain == 1.5
