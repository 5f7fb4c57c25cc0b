"""Guards against formulas: where one might begin, and back to the same text."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.formats.formula_guard import guarded, unguarded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=1+1", "'=1+1"),
        (" =1+1", "' =1+1"),
        ("\u00a0\u200b\ufeff@SUM(A1)", "'\u00a0\u200b\ufeff@SUM(A1)"),
        ("a;=3+3;b", "a;'=3+3;b"),
        ("a; -3", "a;' -3"),
        ("a\n=3", "a\n'=3"),
        ('a;"=1+1;b', "a;'\"=1+1;b"),
        ('a\t" @SUM(1)', "a\t'\" @SUM(1)"),
        ("\0=1", "'\0=1"),
        ("\u202e\u3000=1", "'\u202e\u3000=1"),
        ("\U000e0020=1", "'\U000e0020=1"),
        ("\ufff9\u070f=1", "'\ufff9\u070f=1"),
        ('say "hello"; "yes"', 'say "hello"; "yes"'),
        ("'quoted'", "''quoted'"),
        ("a;'=3", "a;''=3"),
        ("/blog; part two = three", "/blog; part two = three"),
        ("a=b-c+d@e", "a=b-c+d@e"),
        ("it's", "it's"),
    ],
)
def test_an_apostrophe_stands_where_a_formula_might_begin(text: str, expected: str) -> None:
    assert guarded(text) == expected
    assert unguarded(expected) == text


@given(st.lists(st.text(alphabet="=+-@'\"; ,\t\r\n\u00a0\uff1d\0a1"), min_size=1))
def test_no_cell_of_a_file_begins_with_a_sign_whatever_separates_cells(texts: list[str]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerow([guarded(text) for text in texts])
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=separator):
            assert not any(cell.lstrip(" \u00a0\0")[:1] in {*"=+-@\uff1d"} for cell in row), row


@given(st.text(alphabet="=+-@'\"; \t\r\n\u00a0\uff1da1"))
def test_no_cell_begins_with_a_sign_and_every_text_comes_back(text: str) -> None:
    cells = re.split(r"[;\t\r\n]", guarded(text))
    blanks = " \u00a0"
    assert not any(cell.lstrip(blanks)[:1] in set("=+-@\uff1d") for cell in cells if cell.strip())
    assert unguarded(guarded(text)) == text
