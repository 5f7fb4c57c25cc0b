"""Result forms take the order from the body and put it around the result."""

from sqlglot import exp, parse_one

from query.sql.portable import Portable
from query.sql.result_forms import Count, Page


def body() -> exp.Select:
    tree = parse_one("SELECT a, b FROM scoped ORDER BY b DESC, a", dialect=Portable)
    assert isinstance(tree, exp.Select)
    return tree


def test_a_page_has_the_terms_of_the_body_after_its_own() -> None:
    order = Page(order=("2 ASC",)).applied_to(body()).args["order"].expressions

    assert [term.sql(dialect=Portable) for term in order] == ["2 ASC", "b DESC", "a"]


def test_a_count_needs_no_order() -> None:
    assert Count().applied_to(body()).find(exp.Order) is None
