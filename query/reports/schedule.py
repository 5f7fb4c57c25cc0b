"""Schedules: the period that a report is about, and when it is due.

Periods are whole local days: a day, a week from Monday to Sunday, or a month.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from enum import StrEnum

from msgspec import Struct

from query.request.time_zones import to_local, to_unix_ms

DAY = timedelta(days=1)


class Schedule(StrEnum):
    """How often a report is sent."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Period(Struct, frozen=True):
    """start <= instant < end, and the local days that these are."""

    start_ms: int
    end_ms: int
    first: date
    last: date


def period_of(start_ms: int, end_ms: int, zone: str) -> Period:
    """The period between two instants that are the beginning of days."""
    first, end = (to_local(at_ms, zone).date() for at_ms in (start_ms, end_ms))
    return Period(start_ms, end_ms, first, end - DAY)


def last_period(schedule: Schedule, zone: str, at_ms: int) -> Period:
    """The last period that is over at an instant."""
    today = to_local(at_ms, zone).date()
    end = BEGIN[schedule](today)
    return _period(BEGIN[schedule](end - DAY), end, zone)


def period_before(schedule: Schedule, zone: str, period: Period) -> Period:
    """The period right before another one of the same schedule."""
    return _period(BEGIN[schedule](period.first - DAY), period.first, zone)


def due_ms(period: Period, hour: int, zone: str) -> int:
    """When the report about a period is sent: at that hour of the day after it.

    An hour that clocks skip is the instant of the skip; of one that occurs twice, the first.
    """
    return to_unix_ms(datetime.combine(period.last + DAY, time(hour)), zone)


def last_due(schedule: Schedule, hour: int, zone: str, at_ms: int) -> Period:
    """The newest period whose report is due at an instant."""
    period = last_period(schedule, zone, at_ms)
    is_due = due_ms(period, hour, zone) <= at_ms
    return period if is_due else period_before(schedule, zone, period)


def next_due_ms(schedule: Schedule, hour: int, zone: str, at_ms: int) -> int:
    """When the next report is due after an instant."""
    running = BEGIN[schedule](to_local(at_ms, zone).date())
    ends = (running, BEGIN[schedule](running + LONGEST[schedule]))
    dues = [to_unix_ms(datetime.combine(end, time(hour)), zone) for end in ends]
    return next(due for due in dues if due > at_ms)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _first_of_month(day: date) -> date:
    return day.replace(day=1)


BEGIN: Mapping[Schedule, Callable[[date], date]] = {
    Schedule.DAILY: lambda day: day,
    Schedule.WEEKLY: _monday,
    Schedule.MONTHLY: _first_of_month,
}
"""The first day of the period that contains a day."""
LONGEST: Mapping[Schedule, timedelta] = {
    Schedule.DAILY: DAY,
    Schedule.WEEKLY: 7 * DAY,
    Schedule.MONTHLY: 31 * DAY,
}
"""From the first day of a period, this leads into the next one."""


def _period(first: date, end: date, zone: str) -> Period:
    start_ms, end_ms = (to_unix_ms(datetime.combine(day, time()), zone) for day in (first, end))
    return Period(start_ms, end_ms, first, end - DAY)
