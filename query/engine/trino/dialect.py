"""How Trino writes what engines write in different ways.

What DuckDB computes and Trino does not: interpolated quantiles, which are read from a sorted array;
means of decimals, which Trino rounds to the decimals of the column; the greater of a value and
NULL; integers of 128 bits, in place of which stand decimals of 38 digits.
"""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.trino import Trino
from sqlglot.generator import Generator
from sqlglot.generators.trino import TrinoGenerator
from sqlglot.parsers.trino import TrinoParser
from sqlglot.tokenizer_core import TokenType

from query.sql import portable

AS_PATH = "AS_JSON_PATH"
"""Around a placeholder whose value, a JSON pointer, is bound as a JSON path."""
EPOCH = "TIMESTAMP '1970-01-01 00:00:00.000 UTC'"
IS_NUMBER = "'^-?[0-9]'"


def _function(name: str) -> Callable[[Generator, exp.Expression], str]:
    return lambda generator, node: generator.func(name, *node.args.values())


def _int_div(generator: Generator, node: exp.Expression) -> str:
    above, below = generator.sql(node, "this"), generator.sql(node, "expression")
    return f"((({above}) - ({above}) % ({below})) / ({below}))"


def _unix_ms(generator: Generator, node: exp.Expression) -> str:
    return f"DATE_DIFF('millisecond', {EPOCH}, {generator.sql(node, 'this')})"


def _in_list(generator: Generator, node: exp.Expression) -> str:
    return f"({generator.sql(node, 'this')} IN {generator.sql(node, 'expression')})"


def _path(generator: Generator, node: exp.Expression) -> str:
    return f"{AS_PATH}({generator.sql(node, 'expression')})"


def _json(generator: Generator, node: exp.Expression) -> str:
    """The value of a property as JSON text; NULL without one."""
    path = _path(generator, node)
    return f"JSON_FORMAT(JSON_EXTRACT({generator.sql(node, 'this')}, {path}))"


def _property_text(generator: Generator, node: exp.Expression) -> str:
    path = _path(generator, node)
    scalar = f"JSON_EXTRACT_SCALAR({generator.sql(node, 'this')}, {path})"
    return f"COALESCE({scalar}, NULLIF({_json(generator, node)}, 'null'))"


def _property_is_number(generator: Generator, node: exp.Expression) -> str:
    return f"REGEXP_LIKE({_json(generator, node)}, {IS_NUMBER})"


def _property_is_boolean(generator: Generator, node: exp.Expression) -> str:
    return f"({_json(generator, node)} IN ('true', 'false'))"


def _ends_with(generator: Generator, node: exp.Expression) -> str:
    text, end = generator.sql(node, "this"), generator.sql(node, "expression")
    return f"(SUBSTR({text}, LENGTH({text}) - LENGTH({end}) + 1) = {end})"


def _of_values(name: str) -> Callable[[Generator, exp.Expression], str]:
    """GREATEST or LEAST of those values that are not NULL."""

    def write(generator: Generator, node: exp.Expression) -> str:
        first, *others = [node.this, *node.expressions]
        text = generator.sql(first)
        for other in map(generator.sql, others):
            text = f"COALESCE({name}({text}, {other}), {text}, {other})"
        return text

    return write


def _mean(generator: Generator, node: exp.Expression, where: str = "") -> str:
    value = generator.sql(node, "this")
    total = f"CAST(SUM({value}){where} AS DOUBLE)"
    return f"({total} / NULLIF(COUNT({value}){where}, 0))"


def _exact_quantile(generator: Generator, node: exp.Expression, where: str = "") -> str:
    value, share = generator.sql(node, "this"), generator.sql(node, "expression")
    kept = where or f" FILTER(WHERE {value} IS NOT NULL)"
    values = f"FILTER(ARRAY_SORT(ARRAY_AGG({value}){kept}), x -> x IS NOT NULL)"
    rank = f"(CARDINALITY(a) - 1) * CAST({share} AS DOUBLE)"
    low, high = (f"a[CAST({end}({rank}) AS BIGINT) + 1]" for end in ("FLOOR", "CEIL"))
    between = f"{low} + ({high} - {low}) * ({rank} - FLOOR({rank}))"
    return f"TRANSFORM(ARRAY[{values}], a -> CASE WHEN CARDINALITY(a) > 0 THEN {between} END)[1]"


def _replace_matches(generator: Generator, node: exp.Expression) -> str:
    """Its groups are `$1`: a `$` that is none has a backslash before it."""
    replacement = node.args["replacement"].name.replace("$", r"\$")
    text = exp.Literal.string(re.sub(r"\\([0-9])", r"$\1", replacement))
    return generator.func("REGEXP_REPLACE", node.this, node.expression, text)


def _filter(generator: Generator, node: exp.Expression) -> str:
    where = f" FILTER({generator.sql(node, 'expression').strip()})"
    if isinstance(node.this, exp.Avg):
        return _mean(generator, node.this, where)
    if isinstance(node.this, portable.ExactQuantile):
        return _exact_quantile(generator, node.this, where)
    return f"{generator.sql(node, 'this')}{where}"


def _is(generator: Generator, node: exp.Expression) -> str:
    """IS TRUE and IS FALSE, which are never NULL."""
    operator = "IS NOT DISTINCT FROM" if isinstance(node.expression, exp.Boolean) else "IS"
    return f"({generator.sql(node, 'this')} {operator} {generator.sql(node, 'expression')})"


FUNCTIONS: Mapping[type[exp.Expr], Callable[..., str]] = {
    portable.FirstBy: _function("MIN_BY"),
    portable.LastBy: _function("MAX_BY"),
    portable.ExactQuantile: _exact_quantile,
    portable.IntDiv: _int_div,
    portable.UnixMs: _unix_ms,
    portable.InList: _in_list,
    portable.InLongList: _in_list,
    portable.PropertyText: _property_text,
    portable.PropertyIsNumber: _property_is_number,
    portable.PropertyIsBoolean: _property_is_boolean,
    portable.ReplaceMatches: _replace_matches,
}

OTHERS: Mapping[type[exp.Expr], Callable[..., str]] = {
    exp.Avg: _mean,
    exp.EndsWith: _ends_with,
    exp.Filter: _filter,
    exp.Greatest: _of_values("GREATEST"),
    exp.Is: _is,
    exp.Least: _of_values("LEAST"),
    exp.Placeholder: lambda _generator, node: f"${node.name}",
}
"""Functions that Trino has under another name, or with another meaning."""


class PortableGenerator(TrinoGenerator):
    """The generator of Trino that also knows the functions of portable SQL."""

    TRANSFORMS: ClassVar = {**TrinoGenerator.TRANSFORMS, **FUNCTIONS, **OTHERS}
    TYPE_MAPPING: ClassVar = {
        **TrinoGenerator.TYPE_MAPPING,
        exp.DType.INT128: "DECIMAL(38, 0)",
        exp.DType.TEXT: "VARCHAR",
    }

    def cte_sql(self, expression: exp.CTE) -> str:
        expression.set("materialized", None)  # Trino computes a CTE where it is read
        return super().cte_sql(expression)


class NamedValuesParser(TrinoParser):
    """The parser of Trino in which `$name` is a bound value."""

    PLACEHOLDER_PARSERS: ClassVar = {
        **TrinoParser.PLACEHOLDER_PARSERS,
        TokenType.PARAMETER: lambda parser: parser.expression(
            exp.Placeholder(this=parser._parse_var(any_token=True).name)
        ),
    }


class TrinoDialect(Trino):
    """Trino with the functions of portable SQL; values are named, as `$name`."""

    Parser = NamedValuesParser
    Generator = PortableGenerator

    class Tokenizer(Trino.Tokenizer):
        SINGLE_TOKENS: ClassVar = {**Trino.Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}
        VAR_SINGLE_TOKENS: ClassVar = Trino.Tokenizer.VAR_SINGLE_TOKENS - {"$"}
