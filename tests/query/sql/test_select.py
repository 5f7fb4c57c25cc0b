"""Statements made from syntax trees: relations, CTEs, forms of the result, and the cache."""

from typing import Any

import duckdb
import pytest
from msgspec import structs
from sqlglot import parse_one

from query.engine.duckdb_dialect import DuckDBDialect
from query.sql.result_forms import Count, Page, RowsOfKeys
from query.sql.select import Cte, Join, NativeCte, Relation, Select, render

SOURCE = "(SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'b'), (4, NULL)) AS v(n, label))"
ROWS = Relation("scoped", SOURCE, ("n", "label"), ("n >= $least",))
BODY = "SELECT label, SUM(n) AS total FROM scoped GROUP BY label ORDER BY total DESC, label"


def rows(select: Select, **values: Any) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute(render(select, DuckDBDialect), values).fetchall()


def test_a_body_reads_the_relation_in_its_own_order() -> None:
    select = Select(relations=(ROWS,), body=BODY)

    assert rows(select, least=1) == [("b", 5), (None, 4), ("a", 1)]


def test_a_page_is_ordered_by_its_terms_first_and_ends_in_the_number_of_all_rows() -> None:
    select = Select(relations=(ROWS,), body=BODY, form=Page(order=("total ASC",)))

    assert rows(select, least=1, limit=2, offset=1) == [(None, 4, 3), ("b", 5, 3)]


def test_a_condition_on_the_result_applies_to_pages_and_counts() -> None:
    page = Select(relations=(ROWS,), body=BODY, form=Page(where="total > $t"))
    count = Select(relations=(ROWS,), body=BODY, form=Count(where="total > $t"))

    assert rows(page, least=1, t=1, limit=9, offset=0) == [("b", 5, 2), (None, 4, 2)]
    assert rows(count, least=1, t=1) == [(2,)]


def test_rows_of_keys_keep_the_order_of_the_body_and_the_row_without_a_key() -> None:
    form = RowsOfKeys(columns=("c0", "c1"), key="c0")
    select = Select(relations=(ROWS,), body=BODY, form=form)

    assert rows(select, least=1, keys=["a"]) == [(None, 4), ("a", 1)]


def test_the_order_of_the_body_may_be_anything_that_sql_knows() -> None:
    """A subquery with an order of its own, and text that reads like one."""
    body = """
        SELECT label, 'ORDER BY n' AS text
          FROM (SELECT label FROM scoped ORDER BY n LIMIT 3) AS first_rows
         ORDER BY label DESC, COUNT(*) OVER (PARTITION BY label ORDER BY label)
    """
    select = Select(relations=(ROWS,), body=body, form=Page())

    assert [row[0] for row in rows(select, least=1, limit=9, offset=0)] == ["b", "b", "a"]


def test_values_of_a_prefixed_relation_have_their_own_names() -> None:
    other = Relation("other", SOURCE, ("n AS m",), ("n >= $least",), prefix="other")
    body = "SELECT COUNT(*), MIN(m) FROM scoped CROSS JOIN other ORDER BY 1"
    select = Select(relations=(ROWS, other), body=body)

    assert rows(select, least=4, other_least=3) == [(2, 3)]


def test_relations_come_before_the_ctes_that_read_them() -> None:
    select = Select(
        relations=(ROWS, NativeCte("doubled", "SELECT n * 2 AS d FROM scoped")),
        ctes=(Cte("largest", "SELECT MAX(d) AS top FROM doubled"),),
        body="SELECT top FROM largest ORDER BY top",
        form=Page(),
    )

    assert rows(select, least=1, limit=1, offset=0) == [(8, 1)]


def test_an_inlined_relation_says_so_to_the_engine() -> None:
    text = render(Select(relations=(ROWS,), body=BODY, inlined=True), DuckDBDialect)

    assert "scoped AS NOT MATERIALIZED" in text


def test_the_text_of_an_equal_description_is_made_once() -> None:
    first, second = (Select(relations=(ROWS,), body=BODY, form=Page()) for _ in range(2))

    assert first is not second
    assert render(first, DuckDBDialect) is render(second, DuckDBDialect)


def test_a_body_that_is_no_select_is_an_error() -> None:
    with pytest.raises(TypeError, match="a SELECT"):
        render(Select(relations=(), body="DELETE FROM scoped"), DuckDBDialect)


def test_the_text_is_one_statement() -> None:
    text = render(Select(relations=(ROWS,), body=BODY, form=Page()), DuckDBDialect)

    assert parse_one(text, dialect="duckdb").key == "select"


@pytest.mark.parametrize(
    ("body", "materialized"),
    [
        ("SELECT label FROM scoped ORDER BY label", False),
        ("SELECT n FROM scoped WHERE n IN (SELECT MAX(n) FROM scoped) ORDER BY n", True),
    ],
)
def test_a_joined_relation_that_is_read_twice_is_joined_once(body: str, materialized: bool) -> None:
    facts = Cte("facts", "SELECT 1 AS fact_n")
    joined = structs.replace(ROWS, joins=(Join("facts", "facts.fact_n = stored.n"),))

    text = render(Select(relations=(facts, joined), body=body), DuckDBDialect)

    assert ("scoped AS MATERIALIZED (" in text) is materialized
    assert "MATERIALIZED" not in render(Select(relations=(ROWS,), body=body), DuckDBDialect)


def test_a_relation_of_few_rows_is_read_once() -> None:
    few = structs.replace(ROWS, has_few_rows=True)

    text = render(Select(relations=(few,), body=BODY), DuckDBDialect)

    assert "scoped AS MATERIALIZED (" in text
