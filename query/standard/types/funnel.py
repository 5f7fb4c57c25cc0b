"""funnel: visitors or sessions that complete steps in order within a window, and where they stop.

With a breakdown each visitor or session belongs to one group, by the value of its first row that is
a first step, so that groups add up to the funnel without a breakdown.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Literal, Self

from msgspec import UNSET, Meta, Struct, field, structs

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.sql.fragment import Fragment, merge_values
from query.sql.row_definitions import PAGE_EXIT
from query.sql.select import Cte
from query.standard.declaration.fields import (
    Group,
    KeyInteger,
    OptionalMedianSeconds,
    Other,
    Percent,
)
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.breakdown import (
    GROUP_COLUMNS,
    NO_GROUP_COLUMNS,
    Breakdown,
    BreakdownLimit,
    absent_fields,
    parse_breakdown,
)
from query.standard.sql.definitions import HIGH_RANK, LOW_RANK
from query.standard.sql.funnel_steps import ACTOR_GROUPS, completed_ctes
from query.standard.sql.steps import Step, StepText, resolve_steps, step_conditions
from schemas.registry import SavedRecords
from schemas.tables import EVENTS

MAX_STEPS = 10
MAX_EXCLUSIONS = 5
DAY_SECONDS = 86_400


class FunnelSequence(QueryOptions, frozen=True):
    """The steps, and who completes them."""

    steps: Annotated[list[Step], Meta(min_length=2, max_length=MAX_STEPS)]
    window: Annotated[int, Meta(ge=1, le=400 * DAY_SECONDS)] = 7 * DAY_SECONDS
    """Seconds from the first step to the last."""
    by: Literal["visitor", "session"] = "visitor"
    order: Literal["sequence", "strict"] = "sequence"
    """Whether other rows than page exits may lie between steps: not if it is strict."""
    exclusions: Annotated[list[Step], Meta(max_length=MAX_EXCLUSIONS)] = field(default_factory=list)
    """Rows that may not lie between steps."""

    @property
    def key(self) -> str:
        """The column that identifies who completes steps."""
        return "visitor_hash" if self.by == "visitor" else "session_hash"

    @classmethod
    def example(cls) -> Self:
        """Two page views in order."""
        return cls([Step(path="/0"), Step(path="/next/0")])

    def resolve(self, saved: SavedRecords, path: str) -> Self:
        """The options with saved goals and segments in place of their names."""
        steps = resolve_steps(self.steps, saved, f"{path}.steps")
        exclusions = resolve_steps(self.exclusions, saved, f"{path}.exclusions")
        return structs.replace(self, steps=steps, exclusions=exclusions)


class FunnelOptions(FunnelSequence, frozen=True, kw_only=True):
    """Options of the request."""

    breakdown: StepText | None = None
    breakdown_limit: BreakdownLimit | None = None


class FunnelStep(Struct, frozen=True):
    step: KeyInteger
    name: str
    visitors: int
    conversion_rate: Percent
    step_rate: Percent
    dropped: int
    drop_off_rate: Percent
    median_seconds: OptionalMedianSeconds
    breakdown: Group = UNSET
    other: Other = UNSET


def funnel_statement(options: FunnelOptions) -> Statement:
    """How many completed each step, in each group, and the two middle times they took."""
    breakdown = parse_breakdown(options)
    steps = funnel_steps(options, breakdown)
    return Statement(
        ctes=(*steps.ctes, _ranked_completions(grouped=breakdown is not None)),
        sql=_funnel_sql(grouped=breakdown is not None),
        rows_in_python=partial(funnel_rows, options.steps, breakdown is not None),
        values=steps.values,
        absent=absent_fields(breakdown),
    )


class FunnelSteps(Struct, frozen=True):
    """The CTEs up to `completed`, with those of a value or of groups, and their bound values."""

    ctes: tuple[Cte, ...]
    values: dict[str, object]


def funnel_steps(options: FunnelOptions, breakdown: Breakdown | None) -> FunnelSteps:
    """The CTEs that find who completed which step, with a breakdown up to `actor_groups`."""
    if breakdown is None:
        return sequence_steps(options)
    steps = sequence_steps(options, breakdown.value.text)
    return FunnelSteps((*steps.ctes, *ACTOR_GROUPS), merge_values(steps.values, breakdown.values))


def sequence_steps(options: FunnelSequence, value: str = "") -> FunnelSteps:
    """The CTEs that find who completed which step, with a value up to `actor_values`."""
    conditions = step_conditions(options.steps, "steps", "step")
    interruption = funnel_interruption(options)
    texts = [condition.text for condition in conditions]
    values = merge_values(
        *(condition.values for condition in conditions),
        interruption.values,
        {"window_ms": options.window * 1000},
    )
    return FunnelSteps(completed_ctes(options.key, texts, interruption.text, value), values)


def funnel_interruption(options: FunnelSequence) -> Fragment:
    """The condition on rows that may not lie between two steps; empty where all may."""
    conditions = step_conditions(options.exclusions, "exclusions", "exclusion")
    if options.order == "strict":
        conditions = [Fragment(f"name IS DISTINCT FROM '{PAGE_EXIT}'"), *conditions]
    values = merge_values(*(condition.values for condition in conditions))
    return Fragment(" OR ".join(condition.text for condition in conditions), values)


def _ranked_completions(*, grouped: bool) -> Cte:
    """The first completion of each step by each visitor, ranked by the time since the step before.

    Ranks count from 1 in each group.
    """
    columns = ", group_rank, chosen_value, is_other" if grouped else ""
    join = "JOIN actor_groups ON valued_actor = actor_key" if grouped else ""
    partition = f"PARTITION BY step_number{', group_rank' if grouped else ''}"
    return Cte(
        "ranked_completions",
        f"""
        SELECT step_number, elapsed_ms{columns},
               ROW_NUMBER() OVER ({partition} ORDER BY elapsed_ms) AS row_rank,
               COUNT(*) OVER ({partition})                         AS row_count
          FROM completed
          {join}
         WHERE completion_rank = 1
        """,  # noqa: S608
    )


def _funnel_sql(*, grouped: bool) -> str:
    return f"""
        SELECT {GROUP_COLUMNS if grouped else NO_GROUP_COLUMNS},
               step_number,
               COUNT(*)                                                  AS reached,
               MAX(CASE WHEN row_rank = {LOW_RANK} THEN elapsed_ms END)  AS median_low_ms,
               MAX(CASE WHEN row_rank = {HIGH_RANK} THEN elapsed_ms END) AS median_high_ms
          FROM ranked_completions
         GROUP BY step_number{", group_rank" if grouped else ""}
         ORDER BY group_rank, step_number
    """  # noqa: S608


def funnel_rows(
    steps: Sequence[Step], grouped: bool, rows: Sequence[Row], *_: object
) -> Sequence[Row]:
    """A row for each step of each group, zeros for steps without a visitor."""
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row[0])]
    if not groups and not grouped:
        groups = [[(1, None, 0, 1, 0, None, None)]]
    return [row for group in groups for row in _rows_of_group(steps, group)]


def _rows_of_group(steps: Sequence[Step], group: Sequence[Row]) -> list[Row]:
    _, value, is_other, *_ = group[0]
    by_step = {row[3]: row[4:] for row in group}
    first = previous = by_step[1][0]
    result: list[Row] = []
    for number, step in enumerate(steps, 1):
        count, low, high = by_step.get(number, (0, None, None))
        lost = previous - count
        counts = (count, count, first, count, previous, lost, lost, previous)
        times = (low, high, 0 if low is None else count)
        result.append((number, step.display_name, *counts, *times, value, is_other))
        previous = count
    return result


FUNNEL = (
    QueryType(
        name="funnel",
        description="visitors (or sessions) that complete the steps in order",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=FunnelStep,
        default_limit=1_000,
        options=FunnelOptions,
        sql=funnel_statement,
    ),
)
