"""PRESETS: named time ranges, and what each is compared with.

All are whole days of a time zone. A period that is still running is compared with the same part of
the one before it: `today` at noon with yesterday until noon.
"""

from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta

from msgspec import Struct

DateRange = tuple[date, date]
LocalRange = tuple[datetime, datetime]
"""Local times, the end excluded."""

YEAR = 12
"""Months of a year."""


class Preset(Struct, frozen=True):
    """A named time range: its first and last day, and the length of its period."""

    days: Callable[[date], DateRange]
    """First and last day, from the current day."""
    period_days: int = 0
    period_months: int = 0
    running: bool = False
    """Whether it ends with the current day."""

    def previous_period(self, now: datetime) -> LocalRange:
        """The period before, up to the same point if the preset is running."""
        first, _ = self.days(now.date())
        start = self._period_before(_midnight(first))
        end = _midnight(first)
        return start, min(self._period_before(now), end) if self.running else end

    def previous_year(self, now: datetime) -> LocalRange:
        """The same dates of the year before, up to the same point if the preset is running.

        29 February is compared with the 28th; a whole February with a whole February.
        """
        first, last = self.days(now.date())
        start = _months_before(_midnight(first), YEAR, clip=True)
        if self.running:
            return start, _months_before(now, YEAR, clip=True)
        return start, _months_before(_midnight(last + timedelta(days=1)), YEAR, clip=False)

    def _period_before(self, at: datetime) -> datetime:
        if self.period_months:
            return _months_before(at, self.period_months, clip=False)
        return at - timedelta(days=self.period_days)


def _last_days(days: int) -> Preset:
    return Preset(
        lambda today: (today - timedelta(days=days - 1), today), period_days=days, running=True
    )


def _yesterday(today: date) -> DateRange:
    return today - timedelta(days=1), today - timedelta(days=1)


def _this_week(today: date) -> DateRange:
    return today - timedelta(days=today.weekday()), today


def _last_week(today: date) -> DateRange:
    monday = today - timedelta(days=today.weekday())
    return monday - timedelta(days=7), monday - timedelta(days=1)


def _this(months: int) -> Preset:
    """The running month, quarter or year."""
    return Preset(
        lambda today: (_first_day(today, months), today), period_months=months, running=True
    )


def _last(months: int) -> Preset:
    """The month, quarter or year before the running one."""

    def days(today: date) -> DateRange:
        last = _first_day(today, months) - timedelta(days=1)
        return _first_day(last, months), last

    return Preset(days, period_months=months)


PRESETS: Mapping[str, Preset] = {
    "today": _last_days(1),
    "yesterday": Preset(_yesterday, period_days=1),
    "last_7d": _last_days(7),
    "last_14d": _last_days(14),
    "last_30d": _last_days(30),
    "last_90d": _last_days(90),
    "this_week": Preset(_this_week, period_days=7, running=True),
    "last_week": Preset(_last_week, period_days=7),
    "this_month": _this(1),
    "last_month": _last(1),
    "this_quarter": _this(3),
    "last_quarter": _last(3),
    "this_year": _this(YEAR),
    "last_year": _last(YEAR),
}
"""`last_7d` ends with today; a week begins on Monday."""


def _first_day(day: date, months: int) -> date:
    """The first day of its month, quarter or year."""
    return day.replace(month=(day.month - 1) // months * months + 1, day=1)


def _months_before(at: datetime, months: int, *, clip: bool) -> datetime:
    """The same day and time so many months earlier.

    When that month has no such day: the last day at that time (`clip`), or the end of the month.
    """
    month = at.year * YEAR + at.month - 1 - months
    year, month = month // YEAR, month % YEAR + 1
    days = monthrange(year, month)[1]
    if at.day <= days:
        return at.replace(year=year, month=month)
    if clip:
        return at.replace(year=year, month=month, day=days)
    return _midnight(date(year, month, days)) + timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())
