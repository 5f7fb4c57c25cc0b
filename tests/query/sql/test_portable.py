"""Portable SQL: texts are parsed once, and name what they read."""

import pytest
from sqlglot import exp
from sqlglot.errors import ParseError

from query.sql.portable import FUNCTIONS, names_in, parse


def test_a_text_is_parsed_once() -> None:
    text = "SELECT path FROM scoped WHERE name = 'a text of this test'"

    assert parse(text) is parse(text)


def test_names_are_columns_and_relations_but_neither_aliases_nor_text() -> None:
    text = "SELECT path AS page, 'country' AS label, FIRST_BY(city, ms) FROM scoped WHERE name = $x"

    assert names_in(text) == {"path", "scoped", "city", "ms", "name"}
    assert names_in("channel IS NOT NULL AND IN_LIST(path, $paths)") == {"channel", "path"}
    assert names_in("") == frozenset()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.sql_name())
def test_each_function_is_known_by_its_name(function: type[exp.Func]) -> None:
    arguments = ", ".join("abc"[: len(function.arg_types)])

    assert isinstance(parse(f"{function.sql_name()}({arguments})"), function)


def test_a_text_that_is_no_sql_is_an_error_of_ours() -> None:
    with pytest.raises(ParseError):
        parse("SELECT FROM WHERE (")


def test_long_texts_are_parsed_and_not_kept() -> None:
    text = " AND ".join(f"path <> 'page {i}'" for i in range(400))

    assert names_in(text) == {"path"}
    assert parse(text) is not parse(text)
