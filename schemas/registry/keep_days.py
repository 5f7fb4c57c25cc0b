"""Days to keep: after how many days the rows of a website or organization are deleted, by table.

The value of a website wins over that of its organization, one of a table over `all`. What is set
nowhere is kept for ever, unless the operator's settings have a maximum. A day counts by the time of
the event: with 90 days, what happened before midnight (UTC) 90 days ago is deleted.
"""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from schemas.errors import Malformed
from schemas.kinds import AGING_TABLES
from schemas.runtime.settings import Settings

ALL_TABLES = "all"
KEEP_TABLES = tuple(table.name for table in AGING_TABLES)
"""Tables whose rows have an age."""
MAX_DAYS = 36_500
DAY_MS = 86_400_000

KeepDays = Mapping[str, int]
"""Days by table, or `all`."""


class KeepBounds(Struct, frozen=True):
    """The operator's bounds; 0 is no bound."""

    minimum: int = 0
    maximum: int = 0

    @classmethod
    def of_settings(cls, settings: Settings) -> Self:
        return cls(settings.min_keep_days, settings.max_keep_days)

    def check(self, days: KeepDays) -> KeepDays:
        """Malformed when a value is out of the bounds."""
        for table, value in days.items():
            if value < self.minimum:
                raise Malformed(
                    f"'keepDays' of '{table}' is {value:,}; the operator's minimum is "
                    f"{self.minimum:,}"
                )
            if self.maximum and value > self.maximum:
                raise Malformed(
                    f"'keepDays' of '{table}' is {value:,}; the operator's maximum is "
                    f"{self.maximum:,}"
                )
        return days

    def days_of(self, table: str, *narrowest_first: KeepDays) -> int | None:
        """Days to keep the rows of a table; None: for ever."""
        given = (
            days[name] for days in narrowest_first for name in (table, ALL_TABLES) if name in days
        )
        value = next(given, None)
        if value is None:
            return self.maximum or None
        return max(min(value, self.maximum or MAX_DAYS), self.minimum)


def validate_keep_days(value: KeepDays) -> dict[str, int]:
    """Days by table, of tables that have an age."""
    for table, days in value.items():
        if table not in (ALL_TABLES, *KEEP_TABLES):
            names = ", ".join((ALL_TABLES, *KEEP_TABLES))
            raise Malformed(f"'keepDays' has '{table}'; tables are {names}")
        if not 1 <= days <= MAX_DAYS:
            raise Malformed(f"'keepDays' of '{table}' must be 1 to {MAX_DAYS:,} days")
    return dict(value)


def midnight_ms_before(days: int, now_ms: int) -> int:
    """Midnight (UTC) so many days ago, from which rows are kept; Unix milliseconds."""
    return (now_ms // DAY_MS - days) * DAY_MS
