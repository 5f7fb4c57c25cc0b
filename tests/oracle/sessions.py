"""Sessions of the events in a time range."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from tests.oracle.aggregates import grouped, is_view, rounded
from tests.oracle.stored_rows import Row


class Session:
    """The events of one session id, in the order of time; at least one is a page view."""

    def __init__(self, events: list[Row]) -> None:
        self.events = events

    @cached_property
    def views(self) -> list[Row]:
        return [row for row in self.events if is_view(row)]

    @cached_property
    def milliseconds(self) -> int:
        """From the first event to the last, or the visible time: whichever is greater."""
        lapse: int = self.events[-1]["ms"] - self.events[0]["ms"]
        visible = sum((row.get("time_on_page") or Decimal() for row in self.events), Decimal())
        return max(lapse, round(rounded(Fraction(visible) * 1000, 0)))

    @cached_property
    def bounced(self) -> bool:
        """One page view, no interaction, under ten seconds; a page exit is no interaction."""
        others = [row for row in self.events if not is_view(row) and row["name"] != "page_exit"]
        interactions = [row for row in others if row.get("interactive") is not False]
        return len(self.views) == 1 and not interactions and self.milliseconds < 10_000


def sessions(events: Iterable[Row]) -> list[Session]:
    """The sessions of these events."""
    found = [Session(rows) for rows in grouped(events, lambda row: row["session_id"]).values()]
    return [session for session in found if session.views]
