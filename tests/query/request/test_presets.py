"""What the period of a preset is compared with."""

from datetime import datetime

import pytest

from query.request.comparison_range import comparison_range
from query.request.presets import PRESETS
from query.request.time_parameters import parse_time_range
from query.request.time_zones import to_local, to_unix_ms

ZONE = "Europe/Berlin"
WEDNESDAY_NOON = "2026-11-25 12:00"


def compared(preset: str, to: str, now: str) -> tuple[str, str]:
    """First instant and end, in the time of the zone."""
    now_ms = to_unix_ms(datetime.fromisoformat(now), ZONE)
    requested = parse_time_range(None, None, preset, ZONE, now_ms, 400)
    found = comparison_range(to, requested, now_ms, 400, preset)
    start, end = (to_local(ms, ZONE).isoformat(" ")[:16] for ms in (found.start_ms, found.end_ms))
    return start, end


@pytest.mark.parametrize(
    ("preset", "start", "end"),
    [
        ("today", "2026-11-24 00:00", "2026-11-24 12:00"),
        ("yesterday", "2026-11-23 00:00", "2026-11-24 00:00"),
        ("last_7d", "2026-11-12 00:00", "2026-11-18 12:00"),
        ("last_14d", "2026-10-29 00:00", "2026-11-11 12:00"),
        ("last_30d", "2026-09-27 00:00", "2026-10-26 12:00"),
        ("last_90d", "2026-05-30 00:00", "2026-08-27 12:00"),
        ("this_week", "2026-11-16 00:00", "2026-11-18 12:00"),
        ("last_week", "2026-11-09 00:00", "2026-11-16 00:00"),
        ("this_month", "2026-10-01 00:00", "2026-10-25 12:00"),
        ("last_month", "2026-09-01 00:00", "2026-10-01 00:00"),
        ("this_quarter", "2026-07-01 00:00", "2026-08-25 12:00"),
        ("last_quarter", "2026-04-01 00:00", "2026-07-01 00:00"),
        ("this_year", "2025-01-01 00:00", "2025-11-25 12:00"),
        ("last_year", "2024-01-01 00:00", "2025-01-01 00:00"),
    ],
)
def test_the_previous_period_is_the_one_before_or_the_same_part_of_it(
    preset: str, start: str, end: str
) -> None:
    assert compared(preset, "previous_period", WEDNESDAY_NOON) == (start, end)


@pytest.mark.parametrize(
    ("preset", "start", "end"),
    [
        ("today", "2025-11-25 00:00", "2025-11-25 12:00"),
        ("yesterday", "2025-11-24 00:00", "2025-11-25 00:00"),
        ("last_week", "2025-11-16 00:00", "2025-11-23 00:00"),
        ("this_month", "2025-11-01 00:00", "2025-11-25 12:00"),
        ("last_month", "2025-10-01 00:00", "2025-11-01 00:00"),
        ("this_year", "2025-01-01 00:00", "2025-11-25 12:00"),
    ],
)
def test_the_previous_year_has_the_same_dates(preset: str, start: str, end: str) -> None:
    assert compared(preset, "previous_year", WEDNESDAY_NOON) == (start, end)


@pytest.mark.parametrize(
    ("preset", "to", "now", "start", "end"),
    [
        # February has no 30th: what has passed of March is all of February, and more
        (
            "this_month",
            "previous_period",
            "2026-03-30 09:00",
            "2026-02-01 00:00",
            "2026-03-01 00:00",
        ),
        (
            "this_month",
            "previous_period",
            "2026-01-31 09:00",
            "2025-12-01 00:00",
            "2025-12-31 09:00",
        ),
        (
            "last_month",
            "previous_period",
            "2026-01-31 09:00",
            "2025-11-01 00:00",
            "2025-12-01 00:00",
        ),
        # 29 February is compared with the 28th
        ("today", "previous_year", "2028-02-29 09:00", "2027-02-28 00:00", "2027-02-28 09:00"),
        ("yesterday", "previous_year", "2028-03-01 09:00", "2027-02-28 00:00", "2027-03-01 00:00"),
        ("this_month", "previous_year", "2028-02-29 09:00", "2027-02-01 00:00", "2027-02-28 09:00"),
        # a whole February with a whole February
        ("last_month", "previous_year", "2029-03-05 09:00", "2028-02-01 00:00", "2028-03-01 00:00"),
        ("last_month", "previous_year", "2028-03-05 09:00", "2027-02-01 00:00", "2027-03-01 00:00"),
        # the clocks went back on 25 October: nine o'clock is nine o'clock
        ("today", "previous_period", "2026-10-26 09:00", "2026-10-25 00:00", "2026-10-25 09:00"),
        # nothing of the day has passed yet
        ("today", "previous_period", "2026-11-25 00:00", "2026-11-24 00:00", "2026-11-24 00:00"),
    ],
)
def test_months_of_other_lengths_and_leap_days(
    preset: str, to: str, now: str, start: str, end: str
) -> None:
    assert compared(preset, to, now) == (start, end)


def test_no_preset_is_left_untested() -> None:
    name = "test_the_previous_period_is_the_one_before_or_the_same_part_of_it"
    [mark] = globals()[name].pytestmark

    assert [case[0] for case in mark.args[1]] == list(PRESETS)
