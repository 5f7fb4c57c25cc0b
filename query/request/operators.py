"""OPERATORS: the words of a filter, for standard and custom queries alike.

A row without a value is on the side of `ne`, `not_in` and `not_contains`, so that an operator and
its negation always share all rows between them. Text is compared with its case.
"""

from enum import StrEnum

from msgspec import Struct


class Arity(StrEnum):
    """How many values stand on the right."""

    ONE = "one value"
    MANY = "a list of values"
    NONE = "no value"


FEW = 100
"""Values of a list that are compared one after the other."""


class Operator(Struct, frozen=True):
    """One operator; `{column}` and `{value}` are filled in with our own words.

    A list is one bound value: the text, and so the time to plan it, does not grow with its length.
    """

    name: str
    sql: str
    description: str
    arity: Arity = Arity.ONE
    text_only: bool = False
    long: str = ""
    """Of a list of more than FEW values: planned more dearly, and then looked up in a table."""

    def over(self, values: int) -> str:
        """The SQL for so many values."""
        return self.long if self.long and values > FEW else self.sql


OPERATORS = (
    Operator("eq", "{column} = {value}", "is"),
    Operator("ne", "{column} IS DISTINCT FROM {value}", "is not, or is absent"),
    Operator("gt", "{column} > {value}", "is greater than"),
    Operator("gte", "{column} >= {value}", "is greater than or is"),
    Operator("lt", "{column} < {value}", "is less than"),
    Operator("lte", "{column} <= {value}", "is less than or is"),
    Operator(
        "in",
        "list_contains({value}, {column})",
        "is one of",
        Arity.MANY,
        long="{column} = ANY({value})",
    ),
    Operator(
        "not_in",
        "({column} IS NULL OR NOT list_contains({value}, {column}))",
        "is none of, or is absent",
        Arity.MANY,
        long="({column} IS NULL OR {column} <> ALL({value}))",
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
    Operator("is_null", "{column} IS NULL", "is absent", Arity.NONE),
    Operator("is_not_null", "{column} IS NOT NULL", "is there", Arity.NONE),
)

BY_NAME = {operator.name: operator for operator in OPERATORS}
