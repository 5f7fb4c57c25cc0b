"""How numbers, changes, periods and names are written."""

from datetime import date
from typing import Any

import pytest

from query.metrics.metric import Unit
from query.reports.content import Figure, Row, country_name
from query.reports.schedule import Period, Schedule
from query.reports.texts import (
    Change,
    alt_text,
    change_of_figure,
    change_of_row,
    period_text,
    shown_name,
    shown_value,
    subject,
    summary,
    without_links,
)
from tests.query.reports.report_values import a_content


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1234567, Unit.COUNT, "1,234,567"),
        (43.25, Unit.PERCENT, "43.25%"),
        (40.0, Unit.PERCENT, "40%"),
        (59.4, Unit.SECONDS, "59s"),
        (92.4, Unit.SECONDS, "1m 32s"),
        (7_500, Unit.SECONDS, "2h 05m"),
        (1234.5, None, "1,234.5"),
        (None, Unit.PERCENT, "–"),
        (True, None, "True"),
        ("a\nb", None, "a b"),
    ],
)
def test_a_value_is_shown_with_its_unit(value: object, unit: Unit | None, text: str) -> None:
    assert shown_value(value, unit) == text


@pytest.mark.parametrize(
    ("value", "previous", "change"),
    [
        (1234, 1000, Change("▲ 23%", True)),
        (945, 1000, Change("▼ 5.5%", False)),
        (950, 1000, Change("▼ 5%", False)),
        (1000, 1000, Change("= 0%", None)),
        (3, 0, Change("▲ new", True)),
        (0, 0, Change("= 0%", None)),
        (120, 10, Change("▲ 1,100%", True)),
        (1, None, None),
        (None, 1, None),
    ],
)
def test_a_change_is_in_percent_of_before(value: Any, previous: Any, change: Change | None) -> None:
    assert change_of_figure(Figure("Visits", value, previous, Unit.COUNT)) == change
    assert change_of_row(Row("/", (value, 1), previous)) == change


def test_a_change_of_a_percentage_is_in_points() -> None:
    figure = Figure("Bounce rate", 43.25, 45.35, Unit.PERCENT, less_is_better=True)

    assert change_of_figure(figure) == Change("▼ 2.1 points", True)


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("2026-11-29", "2026-11-29", "Sunday, 29 November 2026"),
        ("2026-11-23", "2026-11-29", "23 – 29 November 2026"),
        ("2026-11-30", "2026-12-06", "30 November – 6 December 2026"),
        ("2026-12-28", "2027-01-03", "28 December 2026 – 3 January 2027"),
        ("2026-02-01", "2026-02-28", "February 2026"),
        ("2026-06-01", "2026-06-07", "1 – 7 June 2026"),
    ],
)
def test_a_period_is_named_by_its_days(first: str, last: str, text: str) -> None:
    assert period_text(Period(0, 1, date.fromisoformat(first), date.fromisoformat(last))) == text


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Schedule.DAILY, "shop.example: Weekly numbers, 29 November 2026"),
        (Schedule.WEEKLY, "shop.example: Weekly numbers, 23 – 29 Nov"),
        (Schedule.MONTHLY, "shop.example: Weekly numbers, October 2026"),
    ],
)
def test_a_subject_names_website_report_and_period(schedule: Schedule, text: str) -> None:
    assert subject(a_content(schedule)) == text


def test_a_subject_is_one_line() -> None:
    content = a_content(name="a\r\nBcc: x@evil.example", website="shop\u202e\x00")

    assert subject(content) == "shop: a Bcc: x@evil.example, 23 – 29 Nov"


def test_the_summary_is_a_sentence() -> None:
    assert summary(a_content()) == "1,234 visitors (▲ 23% on the week before), 4,000 page views."
    assert alt_text(a_content()) == "Visitors by day: between 10 (Mon 23) and 70 (Sun 29)."


def test_a_long_name_is_cut() -> None:
    assert shown_name("a" * 200) == "a" * 119 + "…"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("https://evil.example/a", ["https:", "//evil.", "example/a"]),
        ("www.evil.example", ["www.", "evil.", "example"]),
        ("a@evil.example", ["a@", "evil.", "example"]),
        ("/pricing", ["/pricing"]),
        ("▲ 5.5%", ["▲ 5.5%"]),
    ],
)
def test_no_program_finds_an_address_in_a_name(name: str, parts: list[str]) -> None:
    assert without_links(name) == "\u200c".join(parts)


def test_countries_have_names() -> None:
    assert [country_name(code) for code in ("DE", "us", "??")] == ["Germany", "United States", "??"]
