"""The rows that complete the steps of a funnel, and the visitors or sessions that did.

A row completes a step when it meets the step's condition, comes after a row that completed the
step before, and lies within the window from the row that completed the first step. Of several
first rows the latest that leads there counts: a running maximum over the rows in order, so that
one pass per step is enough and no row completes two steps.

No row that interrupts may lie between the rows of two steps. As the latest row that completed the
step before has the latest first row as well, it is enough to compare how many such rows there are
up to it with how many there are before the next one.
"""

from collections.abc import Sequence

from query.sql.row_definitions import ROW_ORDER, first_value
from query.sql.select import Cte
from query.standard.sql.breakdown import GROUP_CTES, JOIN_GROUPS


def completed_ctes(
    key: str, conditions: Sequence[str], interruption: str, value: str
) -> tuple[Cte, ...]:
    """`completed`: each row that completes a step.

    The conditions are those of the steps, and of rows that interrupt, if any; the window is the
    bound value `window_ms`. With a value, `actor_values` has that of the first row of each visitor
    or session that is a first step.
    """
    count = len(conditions)
    interrupted = bool(interruption)
    return (
        _first_step_rows(key, conditions, interruption, value),
        *(_step_rows(number, count, interrupted) for number in range(2, count + 1)),
        _completed(count),
        *((ACTOR_VALUES,) if value else ()),
    )


def _first_step_rows(key: str, conditions: Sequence[str], interruption: str, value: str) -> Cte:
    matches = "".join(
        f",\n               CASE WHEN {text} THEN 1 ELSE 0 END AS is_{number}"
        for number, text in enumerate(conditions, 1)
    )
    columns = f",\n               {value} AS row_value" if value else ""
    interrupts = f"CASE WHEN {interruption} THEN 1 ELSE 0 END"
    up_to_row = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    counted = f""",
               {interrupts} AS interrupts,
               SUM({interrupts}) OVER (PARTITION BY {key} ORDER BY {ROW_ORDER} {up_to_row})
                 AS interruptions"""
    columns += counted if interruption else ""
    read = [*conditions, interruption] if interruption else conditions
    return Cte(
        "step_rows_1",
        f"""
        SELECT {key} AS actor_key,
               {ROW_ORDER}{matches},
               CASE WHEN {conditions[0]} THEN ms END AS first_step_ms_1{columns}
          FROM scoped
         WHERE {key} IS NOT NULL
           AND ({" OR ".join(read)})
        """,  # noqa: S608
    )


def _step_rows(number: int, steps: int, interrupted: bool) -> Cte:
    earlier_rows = "OVER (PARTITION BY actor_key ORDER BY " + ROW_ORDER
    earlier_rows += " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    last = number - 1
    matches = ", ".join(f"is_{n}" for n in range(1, steps + 1))
    earlier_columns = ", ".join(
        [f"first_step_ms_{n}" for n in range(1, number)]
        + [f"previous_step_ms_{n}" for n in range(2, number)]
    )
    latest = f"MAX(first_step_ms_{last}) {earlier_rows}"
    completed = f"MAX(CASE WHEN first_step_ms_{last} IS NOT NULL THEN {{}} END) {earlier_rows}"
    leads_on = ""
    if interrupted:
        earlier_columns += ", interrupts, interruptions"
        up_to_latest = completed.format("interruptions")
        leads_on = f"\n                     AND {up_to_latest} = interruptions - interrupts"
    return Cte(
        f"step_rows_{number}",
        f"""
        SELECT actor_key, {ROW_ORDER}, {matches}, {earlier_columns},
               {completed.format("ms")} AS previous_step_ms_{number},
               CASE WHEN is_{number} = 1 AND ms - {latest} <= $window_ms{leads_on}
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


ACTOR_VALUES = Cte(
    "actor_values",
    f"""
    SELECT actor_key AS valued_actor, {first_value("row_value")} AS breakdown_value
      FROM step_rows_1
     WHERE first_step_ms_1 IS NOT NULL
     GROUP BY actor_key
    """,  # noqa: S608
)

ACTOR_GROUPS = (
    Cte(
        "value_sizes",
        """
        SELECT breakdown_value, COUNT(*) AS value_size
          FROM actor_values
         GROUP BY breakdown_value
        """,
    ),
    *GROUP_CTES,
    Cte(
        "actor_groups",
        f"""
        SELECT valued_actor, group_rank, chosen_value, is_other, member_value
          FROM actor_values
          {JOIN_GROUPS}
        """,  # noqa: S608
    ),
)
"""The group of each visitor or session, by its value."""
