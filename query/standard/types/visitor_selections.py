"""The visitors behind a number: of a funnel step, a goal, a cell of retention, a path.

Each selection has the options of the query type whose number it is, and the members that name the
number in its result. Its CTEs end with `selected_visitors`.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal, Self

from msgspec import Meta, Struct

from query.request.buckets import FIRST_OF, Granularity
from query.request.suggestions import unknown_name_message
from query.request.time_range import FIRST_DAY, LAST_DAY
from query.sql.fragment import merge_values
from query.sql.select import Cte
from query.standard.sql.breakdown import (
    GROUP_CTES,
    JOIN_GROUPS,
    BreakdownGroup,
    group_condition,
    parse_breakdown,
)
from query.standard.sql.steps import GoalStep
from query.standard.sql.visitor_summaries import summary_ctes
from query.standard.types.funnel import FunnelOptions, funnel_steps
from query.standard.types.goals import (
    Goals,
    goal_breakdown,
    goal_conditions,
    goal_ctes,
)
from query.standard.types.paths import Paths, name_pages, path_ctes, path_label, path_values
from query.standard.types.retention import (
    VALUE_SIZES,
    WIDTHS,
    Retention,
    cohort_conditions,
    first_seen,
)
from schemas.errors import Malformed

SELECTED = "selected_visitors"
IS_SELECTED = f"visitor_hash IN (SELECT selected_visitor FROM {SELECTED})"  # noqa: S608
SELECTED_VISITORS = f"""
          FROM scoped
         WHERE {IS_SELECTED}
         GROUP BY visitor_hash
"""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_AFTER = 100


class Selection(Struct, frozen=True, kw_only=True):
    """CTEs that end with `selected_visitors`, and what the statement around them needs."""

    ctes: tuple[Cte, ...]
    values: Mapping[str, object]
    of_visits: bool = False
    """Whether the number is computed from whole visits, not from the rows that filters keep."""
    granularity: Granularity | None = None
    inlined: bool = False
    visitors_source: str = ""
    """What follows SELECT to have a row for each selected visitor, over `scoped` and the CTEs.

    Only where the rows of a visitor alone decide whether it is selected.
    """

    def summaries(self) -> tuple[Cte, Cte]:
        """The activity of each visitor in what the number is computed from."""
        if self.of_visits:
            return summary_ctes("visit_rows", f"{IS_SELECTED} AND session_hash IS NOT NULL")
        return summary_ctes("scoped", IS_SELECTED)


class FunnelVisitors(FunnelOptions, frozen=True, kw_only=True, tag_field="name", tag="funnel"):
    """Visitors who completed a step, or who completed the one before and not this one."""

    step: Annotated[int, Meta(ge=1)]
    outcome: Literal["completed", "dropped"] = "completed"
    group: BreakdownGroup | None = None

    def selection(self) -> Selection:
        """Visitors; of a funnel by session those of its sessions."""
        self._check_step()
        breakdown = parse_breakdown(self)
        condition = group_condition(breakdown, self.group)
        steps = funnel_steps(self, breakdown)
        reached = "SELECT actor_key FROM completed WHERE completion_rank = 1 AND step_number = "
        where = "$selected_step"
        if self.outcome == "dropped":
            where = f"$selected_step - 1 AND actor_key NOT IN ({reached} $selected_step)"
        if breakdown is not None:
            groups = f"SELECT valued_actor FROM actor_groups WHERE {condition.text}"  # noqa: S608
            where += f" AND actor_key IN ({groups})"
        visitors = "SELECT actor_key AS selected_visitor FROM selected_actors"
        if self.by == "session":
            visitors = """
                SELECT DISTINCT visitor_hash AS selected_visitor
                  FROM scoped
                 WHERE visitor_hash IS NOT NULL
                   AND session_hash IN (SELECT actor_key FROM selected_actors)
            """
        return Selection(
            ctes=(
                *steps.ctes,
                Cte("selected_actors", f"{reached} {where}"),
                Cte(SELECTED, visitors),
            ),
            values=merge_values(steps.values, condition.values, {"selected_step": self.step}),
        )

    def _check_step(self) -> None:
        if self.step > len(self.steps):
            raise Malformed(f"'of.step' is {self.step}; the funnel has {len(self.steps)} steps")
        if self.outcome == "dropped" and self.step == 1:
            raise Malformed(
                "'of.outcome' is 'dropped' and 'of.step' is 1; visitors who completed step 1 and "
                "not step 2 are those that dropped at step 2"
            )


class GoalVisitors(Goals, frozen=True, kw_only=True, tag_field="name", tag="goals"):
    """Visitors who reached a goal, or who did not."""

    goal: str
    outcome: Literal["converted", "not_converted"] = "converted"
    group: BreakdownGroup | None = None

    @classmethod
    def example(cls) -> Self:
        """Visitors with an event."""
        return cls([GoalStep(event="n0")], goal="n0")

    def selection(self) -> Selection:
        """Visitors of the rows that count."""
        goals = self.goals or []
        names = [goal.display_name for goal in goals]
        if self.goal not in names:
            raise Malformed(unknown_name_message("goal", self.goal, names, " in 'of.goal'"))
        goal = goal_conditions(goals)[names.index(self.goal)]
        breakdown = goal_breakdown(self)
        condition = group_condition(breakdown, self.group)
        ctes = [
            Cte(
                "counted_rows",
                f"""
                SELECT visitor_hash AS visitor_key, CASE WHEN {goal.text} THEN 1 ELSE 0 END AS done
                  FROM scoped
                 WHERE visitor_hash IS NOT NULL
                """,  # noqa: S608
            )
        ]
        if breakdown is not None:
            rows = f"""
                SELECT visitor_key, is_goal_0 AS done
                  FROM goal_rows
                  {JOIN_GROUPS}
                 WHERE visitor_key IS NOT NULL
                   AND {condition.text}
            """  # noqa: S608
            ctes = [*goal_ctes(self, [goal], breakdown), Cte("counted_rows", rows)]
        done = 1 if self.outcome == "converted" else 0
        selected = f"""
            SELECT visitor_key AS selected_visitor
              FROM counted_rows
             GROUP BY visitor_key
            HAVING MAX(done) = {done}
        """  # noqa: S608
        return Selection(
            ctes=(*ctes, Cte(SELECTED, selected)),
            values=merge_values(
                goal.values, condition.values, breakdown.values if breakdown else {}
            ),
            visitors_source="" if breakdown else _converted(goal.text, done),
        )


def _converted(goal: str, done: int) -> str:
    """The visitors with rows that reach a goal, or without any, in one pass."""
    return f"""
          FROM scoped
         WHERE visitor_hash IS NOT NULL
         GROUP BY visitor_hash
        HAVING MAX(CASE WHEN {goal} THEN 1 ELSE 0 END) = {done}
    """


class RetentionVisitors(Retention, frozen=True, kw_only=True, tag_field="name", tag="retention"):
    """Visitors of a cohort who returned so many periods later, or who did not."""

    date: date
    after: Annotated[int, Meta(ge=0, le=MAX_AFTER)] = 0
    outcome: Literal["returned", "not_returned"] = "returned"
    group: BreakdownGroup | None = None

    def selection(self) -> Selection:
        """Visitors of the cohort."""
        width = WIDTHS[self.period]
        breakdown = parse_breakdown(self)
        condition = group_condition(breakdown, self.group)
        groups = (VALUE_SIZES, *GROUP_CTES) if breakdown else ()
        conditions = cohort_conditions(self)
        start = "JOIN first_seen ON cohort_visitor = visitor_hash" if self.start else ""
        returned = "IN" if self.outcome == "returned" else "NOT IN"
        selected = f"""
            SELECT cohort_visitor AS selected_visitor
              FROM first_seen
              {JOIN_GROUPS if breakdown else ""}
             WHERE cohort = $cohort
               AND {condition.text}
               AND cohort_visitor {returned} (
                       SELECT visitor_hash
                         FROM scoped
                         {start}
                        WHERE bucket = $returned_in
                          AND visitor_hash IS NOT NULL
                          AND {conditions.since_start}
                          AND {conditions.returning.text}
                   )
        """  # noqa: S608
        return Selection(
            ctes=(first_seen(self, conditions, breakdown), *groups, Cte(SELECTED, selected)),
            values=merge_values(
                {"cohort": self._bucket(0), "returned_in": self._bucket(self.after)},
                conditions.values,
                condition.values,
                breakdown.values if breakdown else {},
            ),
            granularity=width,
            visitors_source="" if breakdown else SELECTED_VISITORS,
        )

    def _bucket(self, after: int) -> int:
        """The number of a bucket: its first day as an instant of UTC."""
        if not FIRST_DAY <= self.date < LAST_DAY:
            raise Malformed(f"'of.date' must be between {FIRST_DAY} and {LAST_DAY}")
        first = _ms(self.date)
        if FIRST_OF[WIDTHS[self.period]](first) != first:
            raise Malformed(
                f"'of.date' is {self.date}, which is not the first day of a {self.period}; "
                "take 'date' of a row of the result"
            )
        if self.period == "month":
            months = self.date.year * 12 + self.date.month - 1 + after
            return _ms(date(months // 12, months % 12 + 1, 1))
        return _ms(self.date + timedelta(days=after * (7 if self.period == "week" else 1)))


class PathVisitors(Paths, frozen=True, kw_only=True, tag_field="name", tag="paths"):
    """Visitors with a session that has this path."""

    path: str
    group: BreakdownGroup | None = None

    def selection(self) -> Selection:
        """Visitors of the first page views of the paths."""
        breakdown = parse_breakdown(self)
        condition = group_condition(breakdown, self.group)
        selected = f"""
            SELECT DISTINCT visitor_key AS selected_visitor
              FROM session_paths
              {name_pages(self.max_steps)}
             WHERE {path_label(self.max_steps)} = $selected_path
               AND visitor_key IS NOT NULL
               AND {condition.text}
        """  # noqa: S608
        return Selection(
            ctes=(*path_ctes(self, breakdown), Cte(SELECTED, selected)),
            values=merge_values(
                path_values(self, breakdown), condition.values, {"selected_path": self.path}
            ),
            of_visits=True,
            inlined=True,
        )


def _ms(day: date) -> int:
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


VisitorSelection = FunnelVisitors | GoalVisitors | RetentionVisitors | PathVisitors
