"""Patterns of messages: numbers, ids, addresses and query parts are `#`."""

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import parse_one

from query.engine.duckdb_dialect import DuckDBDialect
from query.engine.trino.dialect import TrinoDialect
from query.sql.message_pattern import message_pattern
from query.sql.portable import parse
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.message_pattern import pattern_of

SELECT = f"SELECT {message_pattern('message')} AS pattern"
PATTERNS = {
    "Cannot load order 81723": "Cannot load order #",
    "utf8, h1, i18n and e2e in 'v2' are not numbers": (
        "utf8, h1, i18n and e2e in 'v2' are not numbers"
    ),
    "total 1,234.50 of [1,2,3] and 7 8 9": "total # of [#] and # # #",
    "timeout of 5000ms exceeded": "timeout of #ms exceeded",
    "late since 2026-11-30T12:05:00.123Z": "late since #-#-#:#:#Z",
    "user 6ba7b810-9dad-11d1-80b4-00c04fd430c8 (550E8400-E29B-41D4-A716-446655440000)": (
        "user # (#)"
    ),
    "at 0x1F and 0xdeadbeef": "at # and #",
    "commit_deadbee1 deadbeef1 3f2a9c8e, not deadbeef": "commit_# # #, not deadbeef",
    "upload 01ARZ3NDEKTSV4RRFFQ69G5FAV": "upload #",
    "no account for anna.b+x@shop.example or Bob@mail.example.": "no account for # or #.",
    "react-dom@18.2.0 is missing": "react-dom@# is missing",
    "GET https://x.example/a/7?token=ab12&page=2 failed": "GET https://x.example/a/#?# failed",
    "a?.b is not x ? 1 : y": "a?.b is not x ? # : y",
    "Cannot read 'order_42' (reading \"0\")": "Cannot read 'order_#' (reading \"#\")",
    "Café42\n43 $1 \\1 #418": "Café#\n# $# \\# ##",
}
"""Messages and their patterns, by hand."""

_pieces = st.sampled_from(
    (
        *(" ", "-", "_", ".", ",", "/", "?", "=", "&", "'", '"', "\n", "$", "\\", "#", ":"),
        *(
            "@",
            "é",
            "日",
            "٣",
            "a",
            "f",
            "e",
            "z",
            "0x",
            "1",
            "42",
            "9,5",
            "ms",
            "deadbee",
            "x.example",
        ),
        *("deadbeef", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "?q=", "a@b.example", "T12"),
    )
)


def patterns(*messages: str) -> list[str]:
    """The patterns, as DuckDB has them."""
    text = parse(f"{SELECT} FROM messages ORDER BY at").sql(dialect=DuckDBDialect)
    rows = "(SELECT UNNEST($messages) AS message, GENERATE_SUBSCRIPTS($messages, 1) AS at)"
    with duckdb.connect() as connection:
        relation = connection.execute(
            f"WITH messages AS {rows} {text}", {"messages": list(messages)}
        )
        return [row[0] for row in relation.fetchall()]


def test_messages_have_the_patterns_that_were_written_down() -> None:
    assert dict(zip(PATTERNS, patterns(*PATTERNS), strict=True)) == PATTERNS


@try_examples(30)
@given(st.lists(st.lists(_pieces, max_size=12).map("".join), min_size=50, max_size=50))
def test_any_message_has_the_pattern_of_the_oracle(messages: list[str]) -> None:
    assert patterns(*messages) == [pattern_of(message) for message in messages]


def test_trino_has_the_same_expressions_with_groups_of_its_own() -> None:
    text = parse(SELECT).sql(dialect=TrinoDialect)

    assert text.count("REGEXP_REPLACE(") == 4
    assert text.count("'$1#'") == 2
    assert parse_one(text, dialect=TrinoDialect).sql(dialect=TrinoDialect) == text
    assert text.replace("$1#", r"\1#") == SELECT.replace("REPLACE_MATCHES", "REGEXP_REPLACE")
