"""The parts of metrics: their tables, and ratios that SQL rounds."""

from fractions import Fraction

import duckdb
import pytest

from query.engine.duckdb_dialect import DuckDBDialect
from query.metrics.metric import Source, ratio
from query.metrics.metrics import BY_NAME
from query.sql.portable import parse
from tests.oracle.aggregates import rounded

NUMBERS = (0, 1, 2, 3, 7, 199, 200, 201, 9_999, 10**6 + 1, 10**12)


def computed(sql: str, rows: str) -> list[float | None]:
    """The values of an expression over rows of `above` and `below`."""
    text = f"SELECT {parse(sql).sql(dialect=DuckDBDialect)} FROM {rows}"
    with duckdb.connect() as connection:
        found = connection.execute(text).fetchall()
    return [None if value is None else float(value) for (value,) in found]


@pytest.mark.parametrize("decimals", [2, 4])
def test_a_ratio_is_rounded_half_up(decimals: int) -> None:
    pairs = [(above, below) for above in NUMBERS for below in NUMBERS[1:]]
    rows = f"(VALUES {', '.join(map(str, pairs))}) AS pairs(above, below)"

    found = computed(ratio("above", "below", decimals), rows)

    assert found == [rounded(Fraction(above, below), decimals) for above, below in pairs]


def test_a_ratio_of_nothing_is_null() -> None:
    rows = "(VALUES (NULL, 1), (1, 0), (1, NULL)) AS pairs(above, below)"

    assert computed(ratio("above", "below"), rows) == [None] * 3


def test_a_metric_names_its_tables_and_what_it_is_of() -> None:
    tables = {name: [table.name for table in BY_NAME[name].tables] for name in BY_NAME}

    assert tables["visitors"] == ["events"]
    assert tables["errors"] == ["errors"]
    assert tables["error_rate"] == ["events", "errors"]
    assert tables["p75_lcp"] == ["vitals"]
    assert BY_NAME["error_rate"].subject == "rows"
    assert BY_NAME["exit_rate"].subject == "visits"
    assert [table.name for table in Source.VISITS.tables] == ["events"]
