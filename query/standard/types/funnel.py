"""funnel: visitors or sessions that complete steps in order within a window, and where they stop.

A row completes a step when it meets the step's condition, comes after a row that completed the
step before, and lies within the window from the row that completed the first step. Of several
first rows the latest that leads there counts: a running maximum over the rows in order, so that
one pass per step is enough and no row completes two steps.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.sql.fragment import merge_values
from query.sql.row_definitions import ROW_ORDER
from query.sql.select import Cte
from query.standard.declaration.fields import FieldSpec, Percent, rounded_seconds
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.definitions import HIGH_RANK, LOW_RANK
from query.standard.sql.steps import Step, step_condition
from schemas.tables import EVENTS

MAX_STEPS = 10
DAY_SECONDS = 86_400
SECONDS = FieldSpec(("_low", "_high", "_count"), rounded_seconds, "seconds")


class Funnel(QueryOptions, frozen=True):
    """Options of the request."""

    steps: Annotated[list[Step], Meta(min_length=2, max_length=MAX_STEPS)]
    window: Annotated[int, Meta(ge=1, le=400 * DAY_SECONDS)] = 7 * DAY_SECONDS
    """Seconds from the first step to the last."""
    by: Literal["visitor", "session"] = "visitor"

    @classmethod
    def example(cls) -> "Funnel":
        """Two page views in order."""
        return cls([Step(path="/0"), Step(path="/next/0")])


class FunnelStep(Struct, frozen=True):
    step: int
    name: str
    visitors: int
    conversion_rate: Percent
    step_rate: Percent
    dropped: int
    drop_off_rate: Percent
    median_seconds: Annotated[float | None, SECONDS]


def funnel_statement(options: Funnel) -> Statement:
    """A CTE for each step: the rows that complete it, with the time of their first step."""
    conditions = [step_condition(s, f"steps[{i}]", f"step{i}") for i, s in enumerate(options.steps)]
    key = "visitor_hash" if options.by == "visitor" else "session_hash"
    numbers = range(1, len(options.steps) + 1)
    return Statement(
        ctes=(
            _first_step_rows(key, [condition.text for condition in conditions]),
            *(_step_rows(number, len(options.steps)) for number in numbers[1:]),
            _completed(len(options.steps)),
            RANKED,
        ),
        sql=SQL,
        rows_in_python=partial(funnel_rows, options.steps),
        values=merge_values(*(c.values for c in conditions), {"window_ms": options.window * 1000}),
    )


def _first_step_rows(key: str, conditions: Sequence[str]) -> Cte:
    matches = "".join(
        f",\n               CASE WHEN {text} THEN 1 ELSE 0 END AS is_{number}"
        for number, text in enumerate(conditions, 1)
    )
    return Cte(
        "step_rows_1",
        f"""
        SELECT {key} AS actor_key,
               {ROW_ORDER}{matches},
               CASE WHEN {conditions[0]} THEN ms END AS first_step_ms_1
          FROM scoped
         WHERE {key} IS NOT NULL
           AND ({" OR ".join(conditions)})
        """,  # noqa: S608
    )


def _step_rows(number: int, steps: int) -> Cte:
    earlier_rows = "OVER (PARTITION BY actor_key ORDER BY " + ROW_ORDER
    earlier_rows += " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    last = number - 1
    matches = ", ".join(f"is_{n}" for n in range(1, steps + 1))
    earlier_columns = ", ".join(
        [f"first_step_ms_{n}" for n in range(1, number)]
        + [f"previous_step_ms_{n}" for n in range(2, number)]
    )
    latest = f"MAX(first_step_ms_{last}) {earlier_rows}"
    completed = f"MAX(CASE WHEN first_step_ms_{last} IS NOT NULL THEN ms END) {earlier_rows}"
    return Cte(
        f"step_rows_{number}",
        f"""
        SELECT actor_key, {ROW_ORDER}, {matches}, {earlier_columns},
               {completed} AS previous_step_ms_{number},
               CASE WHEN is_{number} = 1 AND ms - {latest} <= $window_ms
                    THEN {latest} END AS first_step_ms_{number}
          FROM step_rows_{last}
        """,  # noqa: S608
    )


def _completed(steps: int) -> Cte:
    completions = "\n        UNION ALL\n".join(
        f"""
        SELECT {n} AS step_number, actor_key,
               {"NULL" if n == 1 else f"ms - previous_step_ms_{n}"} AS elapsed_ms,
               ROW_NUMBER() OVER (PARTITION BY actor_key ORDER BY {ROW_ORDER}) AS completion_rank
          FROM step_rows_{steps}
         WHERE first_step_ms_{n} IS NOT NULL"""  # noqa: S608
        for n in range(1, steps + 1)
    )
    return Cte("completed", completions)


RANKED = Cte(
    "ranked_completions",
    """
    SELECT step_number, elapsed_ms,
           ROW_NUMBER() OVER (PARTITION BY step_number ORDER BY elapsed_ms) AS row_rank,
           COUNT(*) OVER (PARTITION BY step_number)                         AS row_count
      FROM completed
     WHERE completion_rank = 1
    """,
)
"""The first completion of each step by each visitor, ranked by the time since the step before."""

SQL = f"""
    SELECT step_number,
           COUNT(*)                                                  AS reached,
           MAX(CASE WHEN row_rank = {LOW_RANK} THEN elapsed_ms END)  AS median_low_ms,
           MAX(CASE WHEN row_rank = {HIGH_RANK} THEN elapsed_ms END) AS median_high_ms
      FROM ranked_completions
     GROUP BY step_number
     ORDER BY step_number
"""  # noqa: S608


def funnel_rows(steps: Sequence[Step], rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each step, zeros for steps without a visitor."""
    by_stage = {row[0]: row[1:] for row in rows}
    reached = [by_stage.get(n, (0, None, None)) for n in range(1, len(steps) + 1)]
    first = reached[0][0]
    result: list[Row] = []
    previous = first
    for number, (count, low, high) in enumerate(reached, 1):
        timed = 0 if low is None else count
        lost = previous - count
        name = steps[number - 1].display_name
        result.append(
            (
                number,
                name,
                count,
                count,
                first,
                count,
                previous,
                lost,
                lost,
                previous,
                low,
                high,
                timed,
            )
        )
        previous = count
    return result


FUNNEL = (
    QueryType(
        name="funnel",
        description="visitors (or sessions) that complete the steps in order",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=FunnelStep,
        options=Funnel,
        sql=funnel_statement,
    ),
)
