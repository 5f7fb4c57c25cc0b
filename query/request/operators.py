"""OPERATORS: the filter operators of standard and custom queries.

A row without a value matches `ne`, `not_in` and `not_contains`, so that every row matches either an
operator or its negation. Text is compared case-sensitively.
"""

from enum import StrEnum

from msgspec import Struct


class Arity(StrEnum):
    """How many values an operator takes."""

    ONE = "one value"
    MANY = "a list of values"
    NONE = "no value"


SHORT_LIST = 100
"""Values of a list up to which IN_LIST is used."""


class Operator(Struct, frozen=True):
    """One operator in portable SQL; `{column}` and `{value}` are never replaced by request text.

    A list is one bound value, so neither the SQL nor its planning time grows with the list.
    """

    name: str
    sql: str
    description: str
    arity: Arity = Arity.ONE
    text_only: bool = False
    by_order: bool = False
    """Whether it says what comes before and after the value."""
    long_list_sql: str = ""
    """SQL for more than SHORT_LIST values: slower to plan, then a hash lookup."""

    def sql_for(self, values: int) -> str:
        """The SQL for that number of values."""
        return self.long_list_sql if self.long_list_sql and values > SHORT_LIST else self.sql


OPERATORS = (
    Operator("eq", "{column} = {value}", "is"),
    Operator("ne", "{column} IS DISTINCT FROM {value}", "is not, or is null"),
    Operator("gt", "{column} > {value}", "is greater than", by_order=True),
    Operator("gte", "{column} >= {value}", "is greater than or is", by_order=True),
    Operator("lt", "{column} < {value}", "is less than", by_order=True),
    Operator("lte", "{column} <= {value}", "is less than or is", by_order=True),
    Operator(
        "in",
        "IN_LIST({column}, {value})",
        "is one of",
        Arity.MANY,
        long_list_sql="IN_LONG_LIST({column}, {value})",
    ),
    Operator(
        "not_in",
        "({column} IS NULL OR NOT IN_LIST({column}, {value}))",
        "is none of, or is null",
        Arity.MANY,
        long_list_sql="({column} IS NULL OR NOT IN_LONG_LIST({column}, {value}))",
    ),
    Operator("contains", "STRPOS({column}, {value}) > 0", "contains it", text_only=True),
    Operator(
        "not_contains",
        "({column} IS NULL OR STRPOS({column}, {value}) = 0)",
        "does not contain it, or is null",
        text_only=True,
    ),
    Operator("starts_with", "STARTS_WITH({column}, {value})", "begins with it", text_only=True),
    Operator("ends_with", "ENDS_WITH({column}, {value})", "ends with it", text_only=True),
    Operator("is_null", "{column} IS NULL", "is null", Arity.NONE),
    Operator("is_not_null", "{column} IS NOT NULL", "is not null", Arity.NONE),
)

BY_NAME = {operator.name: operator for operator in OPERATORS}
