"""How DuckDB writes what engines write in different ways."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generator import Generator
from sqlglot.generators.duckdb import DuckDBGenerator

from query.sql import portable

NUMBER_TYPES = ("BIGINT", "UBIGINT", "DOUBLE")
"""JSON types that `json_type` gives for numbers."""


def _function(name: str) -> Callable[[Generator, exp.Expression], str]:
    return lambda generator, node: generator.func(name, *node.args.values())


def _int_div(generator: Generator, node: exp.Expression) -> str:
    return f"(({generator.sql(node, 'this')}) // ({generator.sql(node, 'expression')}))"


def _in_list(generator: Generator, node: exp.Expression) -> str:
    return generator.func("LIST_CONTAINS", node.expression, node.this)


def _in_long_list(generator: Generator, node: exp.Expression) -> str:
    return f"({generator.sql(node, 'this')} = ANY({generator.sql(node, 'expression')}))"


def _property_is(*types: str) -> Callable[[Generator, exp.Expression], str]:
    listed = ", ".join(f"'{type_}'" for type_ in types)
    return lambda generator, node: (
        f"({generator.func('JSON_TYPE', node.this, node.expression)} IN ({listed}))"
    )


def _replace_matches(generator: Generator, node: exp.Expression) -> str:
    return generator.func("REGEXP_REPLACE", *node.args.values(), exp.Literal.string("g"))


FUNCTIONS: Mapping[type[exp.Expr], Callable[..., str]] = {
    portable.FirstBy: _function("ARG_MIN_NULL"),
    portable.LastBy: _function("ARG_MAX_NULL"),
    portable.ExactQuantile: _function("QUANTILE_CONT"),
    portable.IntDiv: _int_div,
    # Integer arithmetic on this is ten times as fast as the calendar functions.
    portable.UnixMs: _function("EPOCH_MS"),
    portable.InList: _in_list,
    portable.InLongList: _in_long_list,
    portable.PropertyText: _function("JSON_EXTRACT_STRING"),
    portable.PropertyIsNumber: _property_is(*NUMBER_TYPES),
    portable.PropertyIsBoolean: _property_is("BOOLEAN"),
    portable.ReplaceMatches: _replace_matches,
}


class PortableGenerator(DuckDBGenerator):
    """The generator of DuckDB that also knows the functions of portable SQL."""

    TRANSFORMS: ClassVar = {**DuckDBGenerator.TRANSFORMS, **FUNCTIONS}


class DuckDBDialect(DuckDB):
    """DuckDB with the functions of portable SQL."""

    Generator = PortableGenerator
