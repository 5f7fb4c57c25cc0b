"""How ClickHouse writes what engines write in different ways."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.generator import Generator
from sqlglot.generators.clickhouse import ClickHouseGenerator

from query.sql import portable

AS_KEYS = "AS_JSON_KEYS"
"""Around a placeholder whose value, a JSON pointer, is bound as a list of keys."""


def _by_key(name: str) -> Callable[[Generator, exp.Expression, str], str]:
    """The value in a tuple, as NULL is skipped outside of one."""

    def write(generator: Generator, node: exp.Expression, where: str = "") -> str:
        value, key = generator.sql(node, "this"), generator.sql(node, "expression")
        return f"tupleElement({_if(name, where)}(tuple({value}), {key}{_also(where)}), 1)"

    return write


def _exact_quantile(generator: Generator, node: exp.Expression, where: str = "") -> str:
    value, share = generator.sql(node, "this"), generator.sql(node, "expression")
    return f"{_if('quantileExactInclusive', where)}({share})({value}{_also(where)})"


def _if(name: str, where: str) -> str:
    return f"{name}If" if where else name


def _also(where: str) -> str:
    return f", {where}" if where else ""


def _filter(generator: Generator, node: exp.Expression) -> str:
    where = generator.sql(node.expression, "this")
    for kind, write in OWN_AGGREGATES.items():
        if isinstance(node.this, kind):
            return write(generator, node.this, where)
    return f"{generator.sql(node, 'this')} FILTER(WHERE {where})"


def _in_list(generator: Generator, node: exp.Expression) -> str:
    return f"({generator.sql(node, 'this')} IN {generator.sql(node, 'expression')})"


def _keys(generator: Generator, node: exp.Expression) -> str:
    return f"{AS_KEYS}({generator.sql(node, 'expression')})"


def _raw(generator: Generator, node: exp.Expression) -> str:
    """The value of a property as JSON text; empty without one."""
    return f"JSONExtractRaw({generator.sql(node, 'this')}, {_keys(generator, node)})"


def _property_text(generator: Generator, node: exp.Expression) -> str:
    raw = _raw(generator, node)
    return (
        f"NULLIF(IF(startsWith({raw}, '\\\"'), JSONExtractString(concat('[', {raw}, ']'), 1),"
        f" NULLIF(NULLIF({raw}, 'null'), '')), NULL)"
    )


def _property_is_number(generator: Generator, node: exp.Expression) -> str:
    return f"match({_raw(generator, node)}, '^-?[0-9]')"


def _property_is_boolean(generator: Generator, node: exp.Expression) -> str:
    return f"({_raw(generator, node)} IN ('true', 'false'))"


OWN_AGGREGATES: Mapping[type[exp.Expr], Callable[..., str]] = {
    portable.FirstBy: _by_key("argMin"),
    portable.LastBy: _by_key("argMax"),
    portable.ExactQuantile: _exact_quantile,
}
FUNCTIONS: Mapping[type[exp.Expr], Callable[..., str]] = {
    **OWN_AGGREGATES,
    portable.IntDiv: lambda g, node: g.func("intDiv", node.this, node.expression),
    portable.UnixMs: lambda g, node: g.func("toUnixTimestamp64Milli", node.this),
    portable.InList: _in_list,
    portable.InLongList: _in_list,
    portable.PropertyText: _property_text,
    portable.PropertyIsNumber: _property_is_number,
    portable.PropertyIsBoolean: _property_is_boolean,
    portable.ReplaceMatches: lambda g, node: g.func("replaceRegexpAll", *node.args.values()),
}


def _cast(generator: Generator, node: exp.Cast) -> str:
    """As DuckDB: a number is rounded to an integer, and any number becomes a decimal."""
    value, type_ = generator.sql(node, "this"), generator.sql(node, "to")
    if node.to.is_type(*exp.DataType.SIGNED_INTEGER_TYPES):
        return f"CAST(round({value}) AS {type_})"
    if node.to.is_type(exp.DType.DECIMAL):
        return f"CAST(toString({value}) AS {type_})"
    return f"CAST({value} AS {type_})"


OTHERS: Mapping[type[exp.Expr], Callable[..., str]] = {
    exp.Cast: _cast,
    exp.Filter: _filter,
    exp.Placeholder: lambda _generator, node: f"${node.name}",
}


class PortableGenerator(ClickHouseGenerator):
    """The generator of ClickHouse that also knows the functions of portable SQL."""

    TRANSFORMS: ClassVar = {**ClickHouseGenerator.TRANSFORMS, **FUNCTIONS, **OTHERS}

    def cte_sql(self, expression: exp.CTE) -> str:
        expression.set("materialized", None)  # ClickHouse computes a CTE where it is read
        return super().cte_sql(expression)


class ClickHouseDialect(ClickHouse):
    """ClickHouse with the functions of portable SQL; values are named, as `$name`."""

    Generator = PortableGenerator
