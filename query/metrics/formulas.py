"""Formulas over metrics: sums, differences, products and ratios, as `orders / visitors * 100`.

The operands are metrics by their names, and numbers. A formula becomes a metric of its own, whose
SQL is made of that of its operands: order, `having` and pages know it like any other. It computes
with floating point, rounded to six decimals; a division by 0, and a missing operand, give null.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate

from query.metrics.metric import DECIMALS, Metric, Unit
from query.request.suggestions import unknown_name_message
from schemas.errors import Malformed

MAX_LENGTH = 200
MAX_OPERANDS = 10
MAX_SQL_LENGTH, MAX_NESTING = 5_000, 30
"""Of its SQL, which has that of its operands: formulas over formulas grow by each level."""
LEAST, GREATEST = 1e-9, 1e9
"""Of numbers, so that no formula leaves the range of floating point."""
GRAMMAR = (
    "use names of metrics, numbers up to a billion, + - * / and parentheses, as in "
    "'orders / visitors * 100'"
)


SYMBOLS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float | None]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right if right else None,
}


def formula_metric(
    name: str, text: str, operands: Mapping[str, Metric], further: Collection[str], at: str
) -> Metric:
    """The metric of a formula; Malformed names the rule.

    `further` are metrics that a formula names only where they stand before it, since they have
    members of their own; `at` is where the term stands.
    """
    tree = _parse(text, at)
    nodes = [*ast.walk(tree)]
    used = [node.id for node in nodes if isinstance(node, ast.Name)]
    numbers = sum(isinstance(node, ast.Constant) for node in nodes)
    for operand in used:
        if operand in further and operand not in operands:
            raise Malformed(
                f"'{at}.formula' names '{operand}', which has members of its own: give it as a "
                "metric before the formula"
            )
        if operand not in operands:
            where = f" in '{at}.formula'"
            raise Malformed(unknown_name_message("metric", operand, operands, where))
    sql = f"ROUND({_sql(tree, operands, at)}, {DECIMALS})"
    if len(sql) > MAX_SQL_LENGTH or _nesting(sql) > MAX_NESTING:
        raise Malformed(
            f"'{at}.formula' is too large with the formulas that it names; use fewer levels of "
            "formulas, parentheses and signs"
        )
    if not used or len(used) + numbers > MAX_OPERANDS:
        raise Malformed(
            f"'{at}.formula' has {len(used)} metrics and {numbers} numbers; it needs a metric, and "
            f"has at most {MAX_OPERANDS} of both"
        )
    of_nothing = _value(tree, {operand: operands[operand].of_nothing for operand in used})
    metrics = [operands[operand] for operand in dict.fromkeys(used)]
    parts = {part.name: part for metric in metrics for part in metric.parts}
    return Metric(
        name,
        Unit.NUMBER,
        f"{text} (of the metrics of these names)",
        sql,
        tuple(parts.values()),
        (),  # a metric that has checks stands before the formula, with them
        None if of_nothing is None else round(of_nothing, DECIMALS),
    )


def _parse(text: str, at: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise Malformed(f"'{at}.formula' has more than {MAX_LENGTH} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unreadable(at) from None


def _sql(node: ast.expr, operands: Mapping[str, Metric], at: str) -> str:
    match node:
        case ast.Name(id=name):
            return f"CAST(({operands[name].sql}) AS DOUBLE)"
        case ast.Constant(value=int() | float() as number) if _is_allowed(number):
            return f"CAST({number!r} AS DOUBLE)"
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return f"(-{_sql(inner, operands, at)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SYMBOLS:
            above, below = _sql(left, operands, at), _sql(right, operands, at)
            if isinstance(op, ast.Div):
                below = f"NULLIF({below}, 0)"
            return f"({above} {SYMBOLS[type(op)]} {below})"
        case _:
            raise _unreadable(at)


def _nesting(sql: str) -> int:
    """How deep parentheses are inside each other."""
    return max(accumulate((text == "(") - (text == ")") for text in sql))


def _value(node: ast.expr, operands: Mapping[str, float | None]) -> float | None:
    """The value of a formula that `_sql` has taken."""
    match node:
        case ast.Name(id=name):
            return operands[name]
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(operand=inner):
            value = _value(inner, operands)
            return None if value is None else -value
        case ast.BinOp(left=left, op=op, right=right):
            above, below = _value(left, operands), _value(right, operands)
            return None if above is None or below is None else OPERATIONS[type(op)](above, below)
        case _:
            return None


def _is_allowed(number: float) -> bool:
    return not isinstance(number, bool) and (number == 0 or LEAST <= number <= GREATEST)


def _unreadable(at: str) -> Malformed:
    return Malformed(f"'{at}.formula' cannot be read; {GRAMMAR}")
