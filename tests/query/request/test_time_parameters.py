"""Dates, instants and presets of requests become spans, in the zone."""

from datetime import UTC, datetime

import pytest

from query.request.presets import PRESETS
from query.request.time_parameters import parse_time_range
from schemas.errors import Malformed

WEDNESDAY = "2026-11-25T23:30:00+00:00"  # already Thursday the 26th in Berlin


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def bounds(
    start: str | None = None,
    end: str | None = None,
    preset: str | None = None,
    zone: str = "UTC",
    now: str = WEDNESDAY,
) -> tuple[str, str]:
    found = parse_time_range(start, end, preset, zone, ms(now), 400)
    first, beyond = (
        datetime.fromtimestamp(each / 1000, UTC).isoformat(" ", "milliseconds")[:-6]
        for each in (found.start_ms, found.end_ms)
    )
    return first, beyond


@pytest.mark.parametrize(
    ("start", "end", "zone", "first", "beyond"),
    [
        ("2026-11-01", "2026-11-02", "UTC", "2026-11-01 00:00:00.000", "2026-11-03 00:00:00.000"),
        (
            "2026-11-01 08:00:00",
            "2026-11-01 08:59:59",
            "Europe/Berlin",
            "2026-11-01 07:00:00.000",
            "2026-11-01 08:00:00.000",
        ),
        (
            "2026-11-01T08:00:00.250Z",
            "2026-11-01T10:00:00.500+02:00",
            "Asia/Kathmandu",
            "2026-11-01 08:00:00.250",
            "2026-11-01 08:00:00.501",
        ),
        (
            "2026-11-01",
            "2026-11-01 12:30",
            "UTC",
            "2026-11-01 00:00:00.000",
            "2026-11-01 12:31:00.000",
        ),
        # 02:00 to 02:59 occurs twice: from its first second to its last.
        (
            "2026-10-25 02:00:00",
            "2026-10-25 02:59:59",
            "Europe/Berlin",
            "2026-10-25 00:00:00.000",
            "2026-10-25 02:00:00.000",
        ),
        # 02:30 was skipped: what is meant is the moment of the skip.
        (
            "2026-03-29 02:30:00",
            "2026-03-29 03:00:00",
            "Europe/Berlin",
            "2026-03-29 01:00:00.000",
            "2026-03-29 01:00:01.000",
        ),
    ],
)
def test_both_ends_belong_as_far_as_they_are_told(
    start: str, end: str, zone: str, first: str, beyond: str
) -> None:
    assert bounds(start, end, zone=zone) == (first, beyond)


@pytest.mark.parametrize(
    ("preset", "first", "beyond"),
    [
        ("today", "2026-11-26", "2026-11-27"),
        ("yesterday", "2026-11-25", "2026-11-26"),
        ("last_7d", "2026-11-20", "2026-11-27"),
        ("last_14d", "2026-11-13", "2026-11-27"),
        ("last_30d", "2026-10-28", "2026-11-27"),
        ("last_90d", "2026-08-29", "2026-11-27"),
        ("this_week", "2026-11-23", "2026-11-27"),
        ("last_week", "2026-11-16", "2026-11-23"),
        ("this_month", "2026-11-01", "2026-11-27"),
        ("last_month", "2026-10-01", "2026-11-01"),
        ("this_quarter", "2026-10-01", "2026-11-27"),
        ("last_quarter", "2026-07-01", "2026-10-01"),
        ("this_year", "2026-01-01", "2026-11-27"),
        ("last_year", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_preset_is_days_of_the_zone(preset: str, first: str, beyond: str) -> None:
    """In Tokyo it is the 26th since 15:00 UTC; its days begin at 15:00 UTC of the day before."""
    whole = parse_time_range(None, None, preset, "Asia/Tokyo", ms(WEDNESDAY), 400)

    assert whole.days == (
        datetime.fromisoformat(first).date(),
        datetime.fromisoformat(beyond).date(),
    )
    assert (whole.start_ms, whole.end_ms) == (
        ms(f"{first}T00:00+09:00"),
        ms(f"{beyond}T00:00+09:00"),
    )


def test_no_preset_is_left_untested() -> None:
    marks = test_a_preset_is_days_of_the_zone.pytestmark  # type: ignore[attr-defined]

    assert [case[0] for case in marks[0].args[1]] == list(PRESETS)


@pytest.mark.parametrize(
    ("start", "end", "preset", "message"),
    [
        (None, None, None, "'startDate' is missing: use 'startDate' and 'endDate', or 'preset'"),
        ("2026-11-01", None, None, "'endDate' is missing"),
        (None, None, "last_7", "Unknown preset 'last_7'; did you mean 'last_7d'?"),
        ("2026-11-01 25:00:00", "2026-11-02", None, "'startDate' is '2026-11-01 25:00:00'; use"),
        ("2026-11-01", "next week", None, "'endDate' is 'next week'; use a date (YYYY-MM-DD)"),
        ("2026-11-01T10:00:00Z", "2026-11-01T09:00:00Z", None, "which is before 'startDate'"),
        ("2026-11-01T00:00:00Z", "2027-12-06T00:00:00Z", None, "401 days; at most 400"),
        ("0001-01-01T00:00:00Z", "2027-12-06T00:00:00Z", None, "'startDate' must be between"),
    ],
)
def test_a_span_that_is_none_is_refused(
    start: str | None, end: str | None, preset: str | None, message: str
) -> None:
    with pytest.raises(Malformed) as refused:
        bounds(start, end, preset)

    assert message in refused.value.message


def test_own_dates_go_before_a_preset() -> None:
    assert bounds("2026-11-01", "2026-11-01", "last_week")[0] == "2026-11-01 00:00:00.000"
