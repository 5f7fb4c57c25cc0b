"""goals: conversions of each goal, and the share of visitors that converted.

With a breakdown a row counts by its own value, or that of its visit: a group has the numbers of the
same question with a filter on its value. By first touch it counts by the value of the visitor's
first row instead.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Literal, Self

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from query.engine.engine import Row
from query.prepared.goal_counts import GROUP, CountedGoal, GoalCounts
from query.request.subject import SubjectKind
from query.sql.event_condition import stored_path
from query.sql.fragment import Fragment, merge_values
from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW_NAMES
from query.sql.select import Cte
from query.standard.declaration.fields import Group, OptionalAmount, Other, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement, StoredColumns
from query.standard.sql.breakdown import (
    GROUP_COLUMNS,
    GROUP_CTES,
    JOIN_GROUPS,
    NO_GROUP_COLUMNS,
    Breakdown,
    BreakdownOptions,
    absent_fields,
    parse_breakdown,
)
from query.standard.sql.steps import (
    GoalStep,
    Step,
    goal_currency,
    goal_value,
    resolve_steps,
    saved_step,
    step_conditions,
    sum_of_one_currency,
    value_check,
)
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords
from schemas.tables import EVENTS

MAX_GOALS = 20
NOT_COUNTED = (*PAGE_VIEW_NAMES, PAGE_EXIT)
"""Events that rollups do not count by their name."""
NO_VALUE = "CAST(NULL AS DOUBLE)"


class Goals(BreakdownOptions, frozen=True):
    """Options of the request."""

    goals: Annotated[list[GoalStep], Meta(min_length=1, max_length=MAX_GOALS)] | UnsetType = UNSET
    """All saved goals of the website by default."""
    attribution: Literal["last_touch", "first_touch"] | None = None
    """Whose value counts in a breakdown: that of the row, or of the visitor's first row."""

    @classmethod
    def example(cls) -> "Goals":
        """An event and two pages."""
        start = GoalStep(path="/0", label="start")
        return cls([GoalStep(event="n0", value="properties.k0"), start, GoalStep(path="/1")])

    def resolve(self, saved: SavedRecords, path: str) -> Self:
        """The options with saved goals and segments in place of their names."""
        if self.goals is UNSET:
            return structs.replace(self, goals=_all_goals(saved, path))
        return structs.replace(self, goals=resolve_steps(self.goals, saved, f"{path}.goals"))


def _all_goals(saved: SavedRecords, path: str) -> list[GoalStep]:
    goals = saved.of(Goal)
    if not goals:
        raise Malformed(f"'{path}.goals' is missing, and the website has no saved goals")
    if len(goals) > MAX_GOALS:
        raise Malformed(
            f"'{path}.goals' is missing, and the website has {len(goals)} saved goals; "
            f"name at most {MAX_GOALS} of them"
        )
    return [saved_step(goal, saved) for goal in goals]


class GoalConversions(Struct, frozen=True):
    name: str
    conversions: int
    visitors: int
    sessions: int
    conversion_rate: Percent
    value: OptionalAmount
    breakdown: Group = UNSET
    other: Other = UNSET


def goals_statement(options: Goals) -> Statement:
    """The number of all visitors, then four numbers for each goal; in each group."""
    goals = options.goals or ()
    conditions = goal_conditions(goals)
    amounts = [goal_value(goal, f"goals[{i}]", f"goal{i}") for i, goal in enumerate(goals)]
    currencies = [goal_currency(g, f"goals[{i}]", f"goal{i}") for i, g in enumerate(goals)]
    breakdown = goal_breakdown(options)
    finish = partial(goal_rows, goals)
    fragments = (*conditions, *filter(None, amounts), *currencies)
    values = merge_values(*(fragment.values for fragment in fragments))
    if breakdown is None:
        texts = [amount.text if amount else NO_VALUE for amount in amounts]
        codes = [currency.text for currency in currencies]
        reaching = zip([c.text for c in conditions], texts, codes, strict=True)
        counts = _counts(reaching, "visitor_hash", "session_hash")
        sql = f"SELECT {NO_GROUP_COLUMNS}, {counts} FROM scoped ORDER BY group_rank"  # noqa: S608
        absent = absent_fields(breakdown)
        return Statement(sql=sql, values=values, rows_in_python=finish, absent=absent)
    reached = [
        (f"is_goal_{i} = 1", f"value_of_goal_{i}", f"currency_of_goal_{i}")
        for i in range(len(conditions))
    ]
    return Statement(
        ctes=goal_ctes(options, conditions, breakdown, amounts, currencies),
        sql=f"""
            SELECT {GROUP_COLUMNS}, {_counts(reached, "visitor_key", "session_key")}
              FROM goal_rows
              {JOIN_GROUPS}
             GROUP BY group_rank
             ORDER BY group_rank
        """,  # noqa: S608
        values=merge_values(values, breakdown.values),
        rows_in_python=finish,
    )


def goal_conditions(goals: Sequence[Step]) -> list[Fragment]:
    """The condition on rows that reach each goal."""
    return step_conditions(goals, "goals", "goal")


def goal_breakdown(options: Goals) -> Breakdown | None:
    """The breakdown of the options; Malformed for an attribution without one."""
    breakdown = parse_breakdown(options)
    if breakdown is None and options.attribution is not None:
        raise Malformed("'attribution' needs 'breakdown', such as 'visit.channel'")
    return breakdown


def goal_ctes(
    options: Goals,
    conditions: Sequence[Fragment],
    breakdown: Breakdown,
    amounts: Sequence[Fragment | None] = (),
    currencies: Sequence[Fragment] = (),
) -> tuple[Cte, ...]:
    """`goal_rows`: every row with its value and the goals that it reaches; the groups of values."""
    reached = [
        f"CASE WHEN {condition.text} THEN 1 ELSE 0 END AS is_goal_{i}"
        for i, condition in enumerate(conditions)
    ]
    values = [f"{a.text if a else NO_VALUE} AS value_of_goal_{i}" for i, a in enumerate(amounts)]
    codes = [f"{c.text} AS currency_of_goal_{i}" for i, c in enumerate(currencies)]
    goals = ", ".join([*reached, *values, *codes])
    first_touch = options.attribution == "first_touch"
    value = "first_value" if first_touch else breakdown.value.text
    join = "LEFT JOIN first_values ON valued_visitor = visitor_hash" if first_touch else ""
    rows = f"""
        SELECT visitor_hash AS visitor_key, session_hash AS session_key,
               {value} AS breakdown_value, {goals}
          FROM scoped
          {join}
    """  # noqa: S608
    sizes = """
        SELECT breakdown_value, COUNT(DISTINCT visitor_key) AS value_size
          FROM goal_rows
         GROUP BY breakdown_value
    """
    firsts = f"""
        SELECT visitor_hash AS valued_visitor, {breakdown.of_first_row} AS first_value
          FROM scoped
         WHERE visitor_hash IS NOT NULL
         GROUP BY visitor_hash
    """  # noqa: S608
    return (
        *((Cte("first_values", firsts),) if first_touch else ()),
        Cte("goal_rows", rows),
        Cte("value_sizes", sizes),
        *GROUP_CTES,
    )


def _counts(goals: Iterable[tuple[str, str, str]], visitor: str, session: str) -> str:
    """The number of visitors; four numbers for each goal, by its condition, value and currency."""
    counts = [f"COUNT(DISTINCT {visitor}) AS all_visitors"]
    for text, amount, currency in goals:
        counts += [
            f"COUNT(*) FILTER (WHERE {text})",
            f"COUNT(DISTINCT CASE WHEN {text} THEN {visitor} END)",
            f"COUNT(DISTINCT CASE WHEN {text} THEN {session} END)",
            sum_of_one_currency(text, amount, currency),
        ]
    return ",\n".join(counts)


def goal_rows(goals: Sequence[GoalStep], rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each goal of each group, in the order of the request."""
    return [row for columns in rows for row in _rows_of_group(goals, columns)]


def _rows_of_group(goals: Sequence[GoalStep], columns: Row) -> list[Row]:
    _, value, is_other, all_visitors, *counts = columns
    fours = [counts[i : i + 4] for i in range(0, len(counts), 4)]
    return [
        (
            goal.display_name,
            times,
            visitors,
            sessions,
            visitors,
            all_visitors,
            None if goal.value is None else amount,
            value,
            is_other,
        )
        for goal, (times, visitors, sessions, amount) in zip(goals, fours, strict=True)
    ]


def prepared_goals(options: Goals) -> GoalCounts | None:
    """Conversions from parts, of paths and names without filters on properties."""
    goals = options.goals or ()
    if goal_breakdown(options) is not None:
        return None
    if any(goal.filters or goal.event in NOT_COUNTED for goal in goals):
        return None
    return GoalCounts(
        tuple(CountedGoal(goal.path and stored_path(goal.path), goal.event) for goal in goals)
    )


def stored_amounts(options: Goals) -> StoredColumns | None:
    """The sums of the values of goals, which rollups do not have; None when no goal has a value."""
    goals = options.goals or ()
    valued = [i for i, goal in enumerate(goals) if goal.value]
    if not valued:
        return None
    conditions = goal_conditions(goals)
    amounts = {i: goal_value(goals[i], f"goals[{i}]", f"goal{i}") for i in valued}
    known = {i: amount for i, amount in amounts.items() if amount is not None}
    currencies = {i: goal_currency(goals[i], f"goals[{i}]", f"goal{i}") for i in known}
    sums = ", ".join(
        f"{sum_of_one_currency(conditions[i].text, amount.text, currencies[i].text)} "
        f"AS value_of_goal_{i}"
        for i, amount in known.items()
    )
    reached = " OR ".join(f"({conditions[i].text})" for i in known)
    values = merge_values(
        *(conditions[i].values for i in known),
        *(each.values for each in (*known.values(), *currencies.values())),
    )
    return StoredColumns(
        statement=Statement(
            sql=f"SELECT {sums} FROM scoped WHERE {reached} ORDER BY value_of_goal_{valued[0]}",  # noqa: S608
            values=values,
        ),
        join=partial(with_amounts, tuple(known)),
    )


def with_amounts(goals: Sequence[int], rows: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """The one row of counts, with the sum of each of these goals as its fourth number."""
    [counts], [sums] = rows, stored
    columns = list(counts)
    for goal, amount in zip(goals, sums, strict=True):
        columns[len(GROUP) + 1 + 4 * goal + 3] = amount
    return [tuple(columns)]


GOALS = (
    QueryType(
        name="goals",
        description="conversions of each goal, and its share of all visitors",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=GoalConversions,
        default_limit=2_000,
        options=Goals,
        sql=goals_statement,
        prepared=prepared_goals,
        stored_columns=stored_amounts,
        checks=lambda options: value_check(
            {f"goals[{i}]": goal for i, goal in enumerate(options.goals or ())}
        ),
    ),
)
