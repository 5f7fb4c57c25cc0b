"""OPERATORS: the words of a filter, for standard and custom queries alike.

A row without a value is on the side of `ne`, `not_in` and `not_contains`, so that an operator and
its negation always share all rows between them. Text is compared with its case.
"""

from enum import StrEnum

from msgspec import Struct


class Takes(StrEnum):
    """How many values stand on the right."""

    ONE = "one value"
    MANY = "a list of values"
    NONE = "no value"


class Operator(Struct, frozen=True):
    """One operator; `{column}` and `{value}` are filled in with our own words."""

    name: str
    sql: str
    meaning: str
    takes: Takes = Takes.ONE
    text_only: bool = False


OPERATORS = (
    Operator("eq", "{column} = {value}", "is"),
    Operator("ne", "{column} IS DISTINCT FROM {value}", "is not, or is absent"),
    Operator("gt", "{column} > {value}", "is greater than"),
    Operator("gte", "{column} >= {value}", "is greater than or is"),
    Operator("lt", "{column} < {value}", "is less than"),
    Operator("lte", "{column} <= {value}", "is less than or is"),
    Operator("in", "{column} IN ({value})", "is one of", Takes.MANY),
    Operator(
        "not_in",
        "({column} IS NULL OR {column} NOT IN ({value}))",
        "is none of, or is absent",
        Takes.MANY,
    ),
    Operator("contains", "strpos({column}, {value}) > 0", "has it inside", text_only=True),
    Operator(
        "not_contains",
        "({column} IS NULL OR strpos({column}, {value}) = 0)",
        "does not have it inside, or is absent",
        text_only=True,
    ),
    Operator("starts_with", "starts_with({column}, {value})", "begins with it", text_only=True),
    Operator(
        "ends_with", "right({column}, length({value})) = {value}", "ends with it", text_only=True
    ),
    Operator("is_null", "{column} IS NULL", "is absent", Takes.NONE),
    Operator("is_not_null", "{column} IS NOT NULL", "is there", Takes.NONE),
)

BY_NAME = {operator.name: operator for operator in OPERATORS}
