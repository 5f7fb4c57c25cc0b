"""ResultCheck: what is looked up beside a result, to warn of what its numbers cannot tell."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.response.bodies import ResultWarning
from query.standard.declaration.statement import Statement


class ResultCheck(Struct, frozen=True):
    """A statement with one row, over the rows that the result is of, and the warnings from it."""

    statement: Statement
    warnings: Callable[[Row], Sequence[ResultWarning]]


DAILY_VISITOR_IDS = "DAILY_VISITOR_IDS"
AMOUNTS_LEFT_OUT = "AMOUNTS_LEFT_OUT"
SEVERAL_CURRENCIES = "SEVERAL_CURRENCIES"


def _of_daily_ids(row: Row) -> Sequence[ResultWarning]:
    [events] = row
    if not events:
        return ()
    return (
        ResultWarning(
            DAILY_VISITOR_IDS,
            f"{events:,} events came without a visitor id; theirs is derived anew each day, so "
            "that nobody is recognized on a later day: such visitors are always new, and never "
            "return",
            events,
        ),
    )


DAILY_IDS = ResultCheck(
    Statement(
        sql="""
            SELECT COUNT(*) AS event_count
              FROM unfiltered_events
             WHERE visitor_made
             ORDER BY event_count
        """
    ),
    _of_daily_ids,
)
"""Whether visitors are made anew each day, whatever the filters; never on a shared dashboard."""


def left_out(what: str, count: int, example: str | None) -> ResultWarning:
    """Amounts that are no numbers."""
    return ResultWarning(
        AMOUNTS_LEFT_OUT,
        f"{count:,} amounts of {what} are left out, as they cannot be read in one way as a number, "
        f"such as '{(example or '')[:40]}'; send numbers, such as 1299.5",
        count,
    )


def several_currencies(what: str, count: int) -> ResultWarning:
    """Amounts that are not added."""
    return ResultWarning(
        SEVERAL_CURRENCIES,
        f"amounts of {what} are in {count} currencies (those without one count as another), which "
        "are not added; save a money property and ask for 'revenue' of one currency, or filter by "
        "the currency",
        count,
    )
