"""The time range to compare with: previous period, same weekdays, previous year, or given dates."""

from datetime import date, datetime, timedelta

from msgspec import Struct

from query.request import time_zones
from query.request.presets import PRESETS, Preset
from query.request.suggestions import COMPARISON_WORDS, unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_range import FIRST_DAY, TimeRange, time_range
from schemas.errors import Malformed

SAME_WEEKDAYS = "same_weekdays"
PERIODS = ("previous_period", "previous_year", SAME_WEEKDAYS)


class ComparisonDates(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Explicit dates to compare with."""

    start_date: str
    end_date: str


class CompareOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The time range that a result is compared with."""

    to: str | ComparisonDates
    until_now: bool = False
    """Whether a time range that is not over is compared with the same part, as presets are."""


def comparison_range(
    compare: str | CompareOptions,
    requested: TimeRange,
    now_ms: int,
    max_days: int,
    preset: str | None = None,
) -> TimeRange:
    """The time range to compare with; Malformed names the member and the rule.

    `preset` is the name of the requested time range, if it was given by one.
    """
    options = CompareOptions(compare) if isinstance(compare, str) else compare
    to = options.to
    if isinstance(to, ComparisonDates):
        if options.until_now:
            raise Malformed("'compare.untilNow' is for a period before; 'compare.to' has dates")
        return parse_time_range(to.start_date, to.end_date, None, requested.zone, now_ms, max_days)
    if to not in PERIODS:
        where = " in 'compare.to'"
        raise Malformed(
            unknown_name_message("comparison", to, PERIODS, where, words=COMPARISON_WORDS)
        )
    if to == SAME_WEEKDAYS:
        until_now = options.until_now or (preset is not None and PRESETS[preset].running)
        runs = until_now and requested.start_ms <= now_ms
        return _weeks_before(requested, now_ms if runs else requested.end_ms)
    if preset is not None:
        return _before_preset(PRESETS[preset], to, requested, now_ms)
    before, same_time = (
        (_previous_period, period_before) if to == PERIODS[0] else (_previous_year, _year_before)
    )
    compared = before(requested, max_days)
    if not options.until_now or not requested.start_ms <= now_ms < requested.end_ms:
        return compared
    end_ms = max(compared.start_ms, min(same_time(now_ms, requested), compared.end_ms))
    return TimeRange(compared.start_ms, end_ms, requested.zone)


def _before_preset(preset: Preset, to: str, requested: TimeRange, now_ms: int) -> TimeRange:
    now = time_zones.to_local(now_ms, requested.zone)
    previous = preset.previous_period if to == PERIODS[0] else preset.previous_year
    start, end = (time_zones.to_unix_ms(at, requested.zone) for at in previous(now))
    return TimeRange(start, end, requested.zone)


def _weeks_before(requested: TimeRange, until_ms: int) -> TimeRange:
    """The same local times as few whole weeks before as keep both apart, up to an instant."""
    start, end = (
        time_zones.to_local(ms, requested.zone) for ms in (requested.start_ms, requested.end_ms)
    )
    if end <= start:  # clocks went back within it
        end = start + timedelta(milliseconds=requested.end_ms - requested.start_ms)
    weeks = -(-(end - start) // timedelta(days=7))
    until = max(start, min(end, time_zones.to_local(until_ms, requested.zone)))
    first, last = (
        time_zones.to_unix_ms(at - timedelta(days=7 * weeks), requested.zone)
        for at in (start, until)
    )
    return _checked_range(TimeRange(first, last, requested.zone))


def _previous_period(requested: TimeRange, max_days: int) -> TimeRange:
    """The same number of days (or milliseconds) right before the time range."""
    if requested.days is None:
        return _checked_range(
            TimeRange(
                2 * requested.start_ms - requested.end_ms,
                requested.start_ms,
                requested.zone,
            )
        )
    first, end_day = requested.days
    return time_range(
        first - (end_day - first), first - timedelta(days=1), requested.zone, max_days
    )


def _previous_year(requested: TimeRange, max_days: int) -> TimeRange:
    """The same dates; 29 February is compared with the 28th."""
    if requested.days is not None:
        first, end_day = requested.days
        last = end_day - timedelta(days=1)
        return time_range(_last_year(first), _last_year(last), requested.zone, max_days + 1)
    start, end = (_shift_year(ms, requested.zone) for ms in (requested.start_ms, requested.end_ms))
    return _checked_range(TimeRange(start, end, requested.zone))


def period_before(ms: int, requested: TimeRange) -> int:
    """The instant in the period before: the same time of day, or as far from the first instant."""
    if requested.days is None:
        return ms - (requested.end_ms - requested.start_ms)
    first, end_day = requested.days
    local = time_zones.to_local(ms, requested.zone) - (end_day - first)
    return time_zones.to_unix_ms(local, requested.zone)


def _year_before(ms: int, requested: TimeRange) -> int:
    """The same date and time of day in the year before."""
    return _shift_year(ms, requested.zone)


def _shift_year(ms: int, zone: str) -> int:
    local = time_zones.to_local(ms, zone)
    return time_zones.to_unix_ms(datetime.combine(_last_year(local.date()), local.time()), zone)


def _last_year(at: date) -> date:
    leap_day = (at.month, at.day) == (2, 29)
    return at.replace(year=at.year - 1, day=28 if leap_day else at.day)


def _checked_range(parsed: TimeRange) -> TimeRange:
    if parsed.start_ms <= 0:
        raise Malformed(f"'compare.to' gives a time range before {FIRST_DAY}")
    return parsed
