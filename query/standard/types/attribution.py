"""attribution: which visits conversions are credited to, by a fact of the visit.

The visits of a visitor that began within a window before a conversion are its touches, in the
order of their first page views; the visit of the conversion itself is the last one. A model
divides each conversion among its touches; the shares of a conversion add up to one. Filters choose
the conversions; touches are all visits of those visitors.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction as Ratio
from functools import partial
from typing import Annotated, Literal, Self

from msgspec import Meta, Struct, structs

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.request.suggestions import unknown_column_message
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS
from query.scope.visitor_sets import FIRST_MS
from query.scope.visits import FACTS, SOURCE_FACTS, VISIT_FACTS, VisitFact
from query.sql.fragment import Fragment, merge_values
from query.sql.row_definitions import PAGE_VIEW, ROW_ORDER, ROW_ORDER_NUMBER
from query.sql.select import Cte
from query.standard.declaration.fields import OptionalAmount, Percent, Share
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.steps import (
    GoalStep,
    StepText,
    goal_currency,
    goal_value,
    resolve_step,
    step_condition,
    value_check,
)
from schemas.errors import Malformed
from schemas.registry import SavedRecords
from schemas.tables import EVENTS

DEFAULT_DAYS, MAX_DAYS = 30, 180
DIRECT = "Direct"
"""The channel of visits without a referrer, which `last_non_direct` passes over."""
DIMENSIONS: Mapping[str, VisitFact] = {
    **{fact.name: fact for fact in SOURCE_FACTS},
    **{fact.field: fact for fact in FACTS},
}

Model = Literal["first_touch", "last_touch", "last_non_direct", "linear", "position_based"]


class Attribution(QueryOptions, frozen=True):
    """Options of the request."""

    goal: GoalStep
    """What is counted; a value that it has is divided as well."""
    by: StepText = "visit.channel"
    model: Model = "last_touch"
    window_days: Annotated[int, Meta(ge=1, le=MAX_DAYS)] = DEFAULT_DAYS

    @classmethod
    def example(cls) -> "Attribution":
        """Conversions by channel."""
        return cls(GoalStep(event="n0", value="properties.k0"))

    def resolve(self, saved: SavedRecords, path: str) -> Self:
        """The options with saved goals and segments in place of their names."""
        return structs.replace(self, goal=resolve_step(self.goal, saved, f"{path}.goal"))


class AttributedConversions(Struct, frozen=True):
    name: str | None
    conversions: Share
    percentage: Percent
    assisted_conversions: int
    value: OptionalAmount


class Touch(Struct, frozen=True):
    """Where a touch stands among those of its conversion."""

    count: int
    """All touches of the conversion; 0 when it has none."""
    is_first: bool
    is_last: bool
    is_last_known: bool
    """Whether it is the last that is not direct, or the last of only direct ones."""


def _of_ends(touch: Touch) -> Ratio:
    """40 % for the first and the last touch, the rest for those between them."""
    if touch.count <= 2:
        return Ratio(1, max(touch.count, 1))
    return Ratio(2, 5) if touch.is_first or touch.is_last else Ratio(1, 5 * (touch.count - 2))


MODELS: Mapping[Model, Callable[[Touch], Ratio]] = {
    "first_touch": lambda touch: Ratio(touch.is_first),
    "last_touch": lambda touch: Ratio(touch.is_last),
    "last_non_direct": lambda touch: Ratio(touch.is_last_known),
    "linear": lambda touch: Ratio(1, max(touch.count, 1)),
    "position_based": _of_ends,
}
"""The share of a conversion that each model gives to a touch."""


def attribution_statement(options: Attribution) -> Statement:
    """Touches by value of the fact and place among the touches of their conversion."""
    fact = DIMENSIONS.get(options.by)
    if fact is None:
        raise Malformed(unknown_column_message(options.by, DIMENSIONS, " in 'by'"))
    goal = step_condition(options.goal, "goal", "goal")
    value = goal_value(options.goal, "goal", "goal") or Fragment("CAST(NULL AS DOUBLE)")
    currency = goal_currency(options.goal, "goal", "goal")
    return Statement(
        unfiltered_range=partial(with_days_before, options.window_days + 1),
        rows_in_python=partial(attribution_rows, options),
        visits_cte=TOUCHED_VISITS.name,
        values=merge_values(
            goal.values, value.values, currency.values, {"window_ms": options.window_days * DAY_MS}
        ),
        ctes=(
            Cte(
                "conversions",
                f"""
                SELECT ROW_NUMBER() OVER (ORDER BY {ROW_ORDER}) AS conversion_id,
                       visitor_hash AS converted_visitor,
                       session_hash AS converted_session,
                       ms           AS converted_ms,
                       {value.text} AS conversion_value,
                       CASE WHEN {value.text} IS NOT NULL THEN {currency.text} END
                                    AS conversion_currency
                  FROM scoped
                 WHERE {goal.text}
                """,  # noqa: S608
            ),
            TOUCHED_VISITS,
            Cte(
                "touches",
                f"""
                SELECT visitor_hash      AS touch_visitor,
                       session_hash      AS touch_session,
                       touch_ms,
                       touch_order,
                       {fact.sql_column} AS touch_value,
                       visit_channel     AS touch_channel
                  FROM touched_visits
                  LEFT JOIN {VISIT_FACTS}
                    ON visit_session = session_hash
                """,  # noqa: S608
            ),
            *RANKED_TOUCHES,
        ),
        sql="""
            SELECT touch_value, touch_count, is_first, is_last, is_last_known,
                   COUNT(*)                AS touches,
                   SUM(is_first_of_value)  AS assisted,
                   SUM(conversion_value)   AS value_sum,
                   (SELECT COUNT(DISTINCT conversion_currency) FROM conversions) AS currencies
              FROM placed_touches
             GROUP BY touch_value, touch_count, is_first, is_last, is_last_known
             ORDER BY touch_value, touch_count, is_first, is_last, is_last_known
        """,
    )


TOUCHED_VISITS = Cte(
    "touched_visits",
    f"""
    SELECT visitor_hash,
           session_hash,
           MIN(ms)                 AS touch_ms,
           MIN({ROW_ORDER_NUMBER}) AS touch_order
      FROM unfiltered_events
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
       AND visitor_hash IN (SELECT converted_visitor FROM conversions)
     GROUP BY visitor_hash, session_hash
    """,  # noqa: S608
)
"""The visits of visitors who converted."""

RANKED_TOUCHES = (
    Cte(
        "conversion_touches",
        """
        SELECT *, CASE WHEN touch_session = converted_session THEN 1 ELSE 0 END AS is_own
          FROM conversions
          LEFT JOIN touches
            ON touch_visitor = converted_visitor
           AND touch_ms BETWEEN converted_ms - $window_ms AND converted_ms
        """,
    ),
    Cte(
        "ranked_touches",
        """
        SELECT conversion_id, conversion_value, touch_value, touch_channel,
               ROW_NUMBER() OVER (PARTITION BY conversion_id
                                      ORDER BY is_own, touch_order)  AS place,
               COUNT(touch_ms) OVER (PARTITION BY conversion_id)     AS touch_count,
               ROW_NUMBER() OVER (PARTITION BY conversion_id, touch_value
                                      ORDER BY is_own, touch_order)  AS place_of_value
          FROM conversion_touches
        """,
    ),
    Cte(
        "known_touches",
        f"""
        SELECT *, MAX(CASE WHEN touch_channel <> '{DIRECT}' THEN place END)
                      OVER (PARTITION BY conversion_id) AS last_known
          FROM ranked_touches
        """,  # noqa: S608
    ),
    Cte(
        "placed_touches",
        """
        SELECT touch_value, touch_count, conversion_value,
               CASE WHEN place = 1 THEN 1 ELSE 0 END                        AS is_first,
               CASE WHEN place = GREATEST(touch_count, 1) THEN 1 ELSE 0 END AS is_last,
               CASE WHEN place = COALESCE(last_known, GREATEST(touch_count, 1)) THEN 1 ELSE 0 END
                                                                            AS is_last_known,
               CASE WHEN place_of_value = 1 THEN 1 ELSE 0 END               AS is_first_of_value
          FROM known_touches
        """,
    ),
)


def with_days_before(days: int, time_range: TimeRange) -> TimeRange:
    """The time range from some days before it, in which visits are touches or begin."""
    return structs.replace(time_range, start_ms=max(FIRST_MS, time_range.start_ms - days * DAY_MS))


def attribution_rows(options: Attribution, rows: Sequence[Row], *_: object) -> Sequence[Row]:
    """A row for each value of the fact, the one with the most conversions first."""
    share_of = MODELS[options.model]
    conversions: defaultdict[str | None, Ratio] = defaultdict(Ratio)
    values: defaultdict[str | None, Ratio] = defaultdict(Ratio)
    assisted = Counter[str | None]()
    for name, count, is_first, is_last, is_last_known, touches, first_of_value, value, _ in rows:
        share = share_of(Touch(count, bool(is_first), bool(is_last), bool(is_last_known)))
        conversions[name] += share * touches
        values[name] += share * Ratio(value or 0)
        assisted[name] += first_of_value if count else 0
    total = sum(conversions.values())
    names = sorted(conversions, key=lambda name: (-conversions[name], name is None, name or ""))
    # Amounts of several currencies are not added.
    has_value = options.goal.value is not None and not any(row[-1] > 1 for row in rows)
    return [
        (
            *(name, conversions[name], conversions[name], total, assisted[name]),
            values[name] if has_value else None,
        )
        for name in names
    ]


ATTRIBUTION = (
    QueryType(
        name="attribution",
        description="conversions of a goal, divided among the visits that led to them by a model",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=AttributedConversions,
        options=Attribution,
        sql=attribution_statement,
        checks=lambda options: value_check({"goal": options.goal}),
    ),
)
