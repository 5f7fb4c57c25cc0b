"""Breakdown: the numbers of a query type split by a fact of the visit or the row, or a property.

What is counted (a visitor, a session, a row) has one value, which may be absent. The values with
the most of it are groups of their own; all others are one group, so that groups add up.

A type declares the CTE `value_sizes` with a row for each `breakdown_value` and its `value_size`;
`GROUP_CTES` make `value_groups` of it: the group of each value.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct, structs

from query.request.filters import FilterField
from query.request.property_path import is_property, is_trait, parse_property
from query.request.suggestions import unknown_column_message
from query.scope.profiles import PROFILE_COLUMN, PROFILE_FIELD
from query.sql.fragment import PLACEHOLDER, Fragment, merge_values
from query.sql.row_definitions import first_value
from query.sql.select import Cte
from query.standard.declaration.query_type import QueryOptions
from query.standard.declaration.statement import Statement
from query.standard.sql.steps import FIELDS, StepText
from schemas.errors import Malformed
from schemas.tables import ColumnType
from schemas.tables.column import WEBSITE_COLUMN

DEFAULT_VALUES = 10
MAX_VALUES = 50
BREAKDOWN_FIELDS = {
    **FIELDS,
    PROFILE_FIELD: FilterField(ColumnType.STRING, PROFILE_COLUMN),
    WEBSITE_COLUMN.name: FilterField(ColumnType.STRING, WEBSITE_COLUMN.name),
}
"""What a breakdown may name, beside properties and traits."""
WHOLE_TYPES = (ColumnType.BOOLEAN, ColumnType.INTEGER, ColumnType.LONG)
"""Types other than text whose values are groups."""
IDS = frozenset({"event_id", "anonymous_id", "session_id"})
"""Texts that are no groups: each has rows of one event, visitor or session only."""
CHOSEN = "chosen_values"


BreakdownLimit = Annotated[int, Meta(ge=1, le=MAX_VALUES)]


class BreakdownOptions(QueryOptions, frozen=True, kw_only=True):
    """Options of a type that has a breakdown."""

    breakdown: StepText | None = None
    breakdown_limit: BreakdownLimit | None = None


class HasBreakdown(Protocol):
    """`BreakdownOptions`, or options with the same members and another base."""

    @property
    def breakdown(self) -> str | None: ...

    @property
    def breakdown_limit(self) -> int | None: ...


class BreakdownGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """One group of a breakdown, as its rows name it."""

    breakdown: str | None = None
    other: bool = False


class Breakdown(Struct, frozen=True):
    """The value of a row as SQL, and how many values are groups of their own."""

    value: Fragment
    limit: int

    @property
    def of_first_row(self) -> str:
        """The value of the first row of a group of rows."""
        return first_value(self.value.text)

    @property
    def values(self) -> dict[str, object]:
        """The bound values of the CTEs."""
        return merge_values(self.value.values, {"breakdown_limit": self.limit})


def parse_breakdown(options: HasBreakdown) -> Breakdown | None:
    """The breakdown that the options ask for; Malformed when its field cannot be one."""
    name = options.breakdown
    if name is None:
        if options.breakdown_limit is not None:
            raise Malformed("'breakdown_limit' needs 'breakdown', the field to split by")
        return None
    limit = options.breakdown_limit or DEFAULT_VALUES
    if is_property(name) or is_trait(name):
        property_ = parse_property(name, "breakdown_path", "breakdown")
        return Breakdown(Fragment(property_.text, {property_.parameter: property_.pointer}), limit)
    field = BREAKDOWN_FIELDS.get(name)
    if field is None:
        raise Malformed(unknown_column_message(name, BREAKDOWN_FIELDS, " in 'breakdown'"))
    if field.type is ColumnType.STRING and name not in IDS:
        return Breakdown(Fragment(field.sql), limit)
    if field.type not in WHOLE_TYPES or name in IDS:
        raise Malformed(
            f"'breakdown' is '{name}', which has a value of its own for almost every row; "
            "use a field with few values, or filters for parts of its range"
        )
    return Breakdown(Fragment(f"CAST({field.sql} AS TEXT)"), limit)


def names_profiles(options: Mapping[str, Any]) -> bool:
    """Whether the breakdown in the options of a request, or in what they are of, is of profiles."""
    inner = options.get("of")
    name = options.get("breakdown")
    own = isinstance(name, str) and (name == PROFILE_FIELD or is_trait(name))
    return own or (isinstance(inner, Mapping) and names_profiles(inner))


def absent_fields(breakdown: Breakdown | None) -> tuple[str, ...]:
    """The fields of groups, which rows without a breakdown do not have."""
    return () if breakdown else BreakdownGroup.__struct_fields__


def _chosen(where: str = "") -> Cte:
    return Cte(
        CHOSEN,
        f"""
        SELECT chosen_value, value_rank
          FROM (SELECT breakdown_value AS chosen_value,
                       ROW_NUMBER() OVER (ORDER BY value_size DESC, breakdown_value) AS value_rank
                  FROM value_sizes
                {where}) AS ranked_values
         WHERE value_rank <= $breakdown_limit
        """,  # noqa: S608
    )


GROUP_CTES = (
    _chosen(),
    Cte(
        "value_groups",
        f"""
        SELECT breakdown_value AS member_value, chosen_value,
               COALESCE(value_rank, $breakdown_limit + 1)    AS group_rank,
               CASE WHEN value_rank IS NULL THEN 1 ELSE 0 END AS is_other
          FROM value_sizes
          LEFT JOIN {CHOSEN}
            ON chosen_value IS NOT DISTINCT FROM breakdown_value
        """,  # noqa: S608
    ),
)
"""The values that are groups of their own; then the group of each value."""

JOIN_GROUPS = "JOIN value_groups ON member_value IS NOT DISTINCT FROM breakdown_value"
GROUP_COLUMNS = "group_rank, MAX(chosen_value) AS group_value, MAX(is_other) AS group_is_other"
"""Of rows that are grouped by `group_rank`."""
NO_GROUP_COLUMNS = (
    "1 AS group_rank, CAST(NULL AS TEXT) AS group_value, CAST(0 AS INT) AS group_is_other"
)
"""The same without a breakdown."""


def chosen_values(statement: Statement) -> Statement | None:
    """The statement that selects the values with a group of their own; None without a breakdown."""
    if all(cte.name != CHOSEN for cte in statement.ctes):
        return None
    sql = f"SELECT chosen_value FROM {CHOSEN} ORDER BY chosen_value"  # noqa: S608
    named = {name for cte in statement.ctes for name in PLACEHOLDER.findall(cte.sql)}
    values = {name: value for name, value in statement.values.items() if name in named}
    return structs.replace(statement, sql=sql, values=values, rows_in_python=None)


def with_values(statement: Statement, chosen: Sequence[str | None]) -> Statement:
    """The statement with these values as groups of their own, however large they are."""
    texts = [value for value in chosen if value is not None]
    conditions = ["breakdown_value IS NULL"] if len(texts) < len(chosen) else []
    conditions += [f"breakdown_value = $chosen_{i}" for i in range(len(texts))]
    fixed = _chosen(f"WHERE {' OR '.join(conditions) or '1 = 0'}")
    ctes = tuple(fixed if cte.name == CHOSEN else cte for cte in statement.ctes)
    bound = {f"chosen_{i}": value for i, value in enumerate(texts)}
    return structs.replace(statement, ctes=ctes, values=merge_values(statement.values, bound))


def group_condition(breakdown: Breakdown | None, group: BreakdownGroup | None) -> Fragment:
    """The condition on `value_groups` for a group; Malformed without the breakdown that it is of.

    A value may be one of those that are `other`. Without a group the condition holds for all.
    """
    if group is None:
        return Fragment("1 = 1")
    if breakdown is None:
        raise Malformed("'group' needs 'breakdown', the field that the groups are of")
    if group.other and group.breakdown is not None:
        raise Malformed(
            "'group' has a value in 'breakdown' and is 'other'; the group of all other values has "
            "no value of its own"
        )
    if group.other:
        return Fragment("is_other = 1")
    if group.breakdown is None:
        return Fragment("member_value IS NULL")
    return Fragment("member_value = $group_value", {"group_value": group.breakdown})
