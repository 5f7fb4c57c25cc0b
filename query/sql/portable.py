"""Portable SQL: the language of query types, filters and custom queries.

Its syntax is that of DuckDB without DuckDB's own functions. What engines write in different ways
are the functions below; each engine declares how it writes them. sqlglot parses a text once.
"""

from functools import lru_cache
from typing import ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

MAX_CACHED_TEXTS = 512
MAX_CACHED_LENGTH = 4_000
"""Characters of a text that is cached: all texts of the query types are shorter. A tree takes some
40 bytes a character, so that texts of requests, which differ endlessly, never fill the memory."""

ONE = {"this": True}
TWO = {"this": True, "expression": True}
"""Arguments of a function, as sqlglot declares them."""


class FirstBy(exp.Expression, exp.AggFunc):
    """FIRST_BY(value, key): the value, NULL or not, of the row with the lowest key."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class LastBy(exp.Expression, exp.AggFunc):
    """LAST_BY(value, key): the value, NULL or not, of the row with the highest key."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class ExactQuantile(exp.Expression, exp.AggFunc):
    """EXACT_QUANTILE(value, share): interpolated between its neighbours, never estimated."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class IntDiv(exp.Expression, exp.Func):
    """INT_DIV(a, b): integer division of numbers that are not negative."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class UnixMs(exp.Expression, exp.Func):
    """UNIX_MS(instant): milliseconds since 1970-01-01 UTC."""

    arg_types: ClassVar[dict[str, bool]] = ONE


class InList(exp.Expression, exp.Func):
    """IN_LIST(value, list): whether a short list, one bound value, contains the value."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class InLongList(exp.Expression, exp.Func):
    """IN_LONG_LIST(value, list): the same by a hash lookup, slower to plan."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class PropertyText(exp.Expression, exp.Func):
    """PROPERTY_TEXT(json, pointer): a string as it is, anything else as JSON."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class PropertyIsNumber(exp.Expression, exp.Func):
    """PROPERTY_IS_NUMBER(json, pointer): whether the JSON type of the value is a number."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class PropertyIsBoolean(exp.Expression, exp.Func):
    """PROPERTY_IS_BOOLEAN(json, pointer): whether the value is true or false."""

    arg_types: ClassVar[dict[str, bool]] = TWO


class ReplaceMatches(exp.Expression, exp.Func):
    """REPLACE_MATCHES(text, pattern, text): every match of a regular expression replaced.

    Patterns have the same meaning in every engine without `\\d`, `\\s`, `\\w` and `\\b`: with them
    some mean ASCII, some Unicode. `\\1` in the new text is what the first group matched.
    """

    arg_types: ClassVar[dict[str, bool]] = {**TWO, "replacement": True}


FUNCTIONS: tuple[type[exp.Func], ...] = (
    FirstBy,
    LastBy,
    ExactQuantile,
    IntDiv,
    UnixMs,
    InList,
    InLongList,
    PropertyText,
    PropertyIsNumber,
    PropertyIsBoolean,
    ReplaceMatches,
)
"""What every engine has to write in its own way, beside INT128, its 128-bit integer type."""


class PortableParser(DuckDBParser):
    """The parser of DuckDB that also knows these functions."""

    FUNCTIONS: ClassVar = {
        **DuckDBParser.FUNCTIONS,
        **{function.sql_name(): function.from_arg_list for function in FUNCTIONS},
    }


class Portable(DuckDB):
    """The dialect in which texts are parsed."""

    Parser = PortableParser


def parse(text: str) -> exp.Expr:
    """The syntax tree of a statement, an expression or a condition; copy it before changing it."""
    return _cached_tree(text) if len(text) <= MAX_CACHED_LENGTH else _tree(text)


def names_in(text: str) -> frozenset[str]:
    """The columns and relations that a text names."""
    return _cached_names(text) if len(text) <= MAX_CACHED_LENGTH else _names(text)


def _tree(text: str) -> exp.Expr:
    return parse_one(text, dialect=Portable)


def _names(text: str) -> frozenset[str]:
    if not text:
        return frozenset()
    return frozenset(node.name for node in parse(text).find_all(exp.Column, exp.Table))


_cached_tree = lru_cache(MAX_CACHED_TEXTS)(_tree)
_cached_names = lru_cache(MAX_CACHED_TEXTS)(_names)
