"""Conditions of alerts, with numbers worked out by hand."""

from typing import Any

import pytest

from query.notify.conditions import (
    Finding,
    Row,
    against_earlier,
    against_threshold,
    against_usual,
    new_rows,
    nothing_arrived,
    number_in,
    shown,
)
from schemas.registry import Alert

FLAT = (100.0,) * 14


def alert(condition: str, threshold: float | None = None, against: str = "previous") -> Alert:
    return Alert(
        id="alert_1",
        organization_id="acme",
        website_id="shop",
        created_at=0,
        updated_at=0,
        name="a",
        condition=condition,
        threshold=threshold,
        against=against,
    )


@pytest.mark.parametrize(
    ("condition", "value", "fires"),
    [
        ("above", 11.0, True),
        ("above", 10.0, False),
        ("above", 0.0, False),
        ("below", 9.5, True),
        ("below", 10.0, False),
        ("below", 0.0, True),
    ],
)
def test_a_threshold_itself_is_neither_above_nor_below(
    condition: str, value: float, fires: bool
) -> None:
    finding = against_threshold(alert(condition, 10), value)

    assert finding == Finding(fires, value, 10, words="the bound is 10")


@pytest.mark.parametrize("condition", ["above", "below"])
def test_without_a_number_a_threshold_says_nothing(condition: str) -> None:
    assert against_threshold(alert(condition, 10), None) == Finding(None, None, 10)


@pytest.mark.parametrize(
    ("value", "fires", "shown_value"),
    [(None, True, 0.0), (0.0, True, 0.0), (1.0, False, 1.0), (-2.0, False, -2.0)],
)
def test_nothing_is_no_row_or_a_zero(value: float | None, fires: bool, shown_value: float) -> None:
    assert nothing_arrived(value) == Finding(fires, shown_value, words="nothing arrived")


@pytest.mark.parametrize(
    ("condition", "threshold", "value", "earlier", "fires", "words"),
    [
        # by 50 percent unless the alert names another number; the number itself counts
        ("rises", None, 15, 10, True, "10 before, +50 %"),
        ("rises", None, 14, 10, False, "10 before, +40 %"),
        ("rises", 200, 29, 10, False, "10 before, +190 %"),
        ("rises", 200, 30, 10, True, "10 before, +200 %"),
        ("rises", None, 5, 10, False, "10 before, -50 %"),
        ("falls", None, 5, 10, True, "10 before, -50 %"),
        ("falls", None, 6, 10, False, "10 before, -40 %"),
        ("falls", 100, 0, 10, True, "10 before, -100 %"),
        ("falls", 10, 20, 10, False, "10 before, +100 %"),
        # of negative numbers, as of a balance
        ("rises", 50, -5, -10, True, "-10 before, +50 %"),
        ("falls", 50, -15, -10, True, "-10 before, -50 %"),
        # from nothing everything is a rise
        ("rises", 500, 1, 0, True, "0 before"),
        ("rises", 500, 0, 0, False, "0 before"),
        ("falls", 50, 0, 0, False, "0 before"),
        ("falls", 50, 7, 0, False, "0 before"),
    ],
)
def test_a_change_is_measured_in_percent_of_the_earlier_number(
    condition: str,
    threshold: float | None,
    value: float,
    earlier: float,
    fires: bool,
    words: str,
) -> None:
    finding = against_earlier(alert(condition, threshold), value, earlier)

    assert finding == Finding(fires, value, earlier, words=words)


def test_a_change_of_a_week_says_so() -> None:
    finding = against_earlier(alert("falls", 50, "week"), 40, 100)

    assert finding == Finding(True, 40, 100, words="100 a week earlier, -60 %")


@pytest.mark.parametrize(("value", "earlier"), [(None, 3.0), (3.0, None), (None, None)])
def test_without_two_numbers_there_is_no_change(value: float | None, earlier: float | None) -> None:
    assert against_earlier(alert("rises"), value, earlier) == Finding(None, value, earlier)


@pytest.mark.parametrize(
    ("condition", "threshold", "value", "history", "expected"),
    [
        # median 100, no spread: a deviation is the root of 100; the range is 100 - 30 to 100 + 30
        ("spike", None, 131, FLAT, Finding(True, 131, 130, words="70 to 130 is usual")),
        ("spike", None, 130, FLAT, Finding(False, 130, 130, words="70 to 130 is usual")),
        ("spike", None, 2, FLAT, Finding(False, 2, 130, words="70 to 130 is usual")),
        ("drop", None, 69, FLAT, Finding(True, 69, 70, words="70 to 130 is usual")),
        ("drop", None, 70, FLAT, Finding(False, 70, 70, words="70 to 130 is usual")),
        ("drop", None, 900, FLAT, Finding(False, 900, 70, words="70 to 130 is usual")),
        ("spike", 5, 150, FLAT, Finding(False, 150, 150, words="50 to 150 is usual")),
        ("spike", 5, 151, FLAT, Finding(True, 151, 150, words="50 to 150 is usual")),
        # a few visitors: 4 ± 3 · 2; the lower end is shown as 0, and no count is below it
        ("spike", None, 11, (4,) * 5, Finding(True, 11, 10, words="0 to 10 is usual")),
        ("drop", None, 0, (4,) * 5, Finding(False, 0, -2, words="0 to 10 is usual")),
        # of a website without traffic at that hour one event is a spike
        ("spike", None, 1, (0,) * 5, Finding(True, 1, 0, words="0 to 0 is usual")),
        ("drop", None, 0, (0,) * 5, Finding(False, 0, 0, words="0 to 0 is usual")),
    ],
)
def test_the_usual_range_is_around_the_median(
    condition: str,
    threshold: float | None,
    value: float,
    history: tuple[float, ...],
    expected: Finding,
) -> None:
    assert against_usual(alert(condition, threshold), value, history) == expected


def test_a_spread_beyond_chance_widens_the_range() -> None:
    # Median 100; distances from it 40 20 0 20 40, of which the median is 20: 20 · 1.4826 = 29.652
    # is more than the root of 100. The range is 100 ± 3 · 29.652 = 11.044 to 188.956.
    history = (60, 80, 100, 120, 140)

    finding = against_usual(alert("spike"), 188, history)

    assert finding.fires is False
    assert finding.reference == pytest.approx(188.956)
    assert finding.words == "11.04 to 189 is usual"
    assert against_usual(alert("spike"), 189, history).fires is True
    assert against_usual(alert("drop"), 11, history).fires is True
    assert against_usual(alert("drop"), 12, history).fires is False


@pytest.mark.parametrize("condition", ["spike", "drop"])
def test_four_earlier_numbers_do_not_say_what_is_usual(condition: str) -> None:
    assert against_usual(alert(condition), 9_000, (1.0,) * 4) == Finding(
        None, 9_000, words="Too little history: 4 of 5 earlier buckets"
    )
    assert against_usual(alert(condition), None, FLAT) == Finding(None, None)


def test_one_odd_day_does_not_move_what_is_usual() -> None:
    assert against_usual(alert("spike"), 131, (*FLAT, 1_000_000)).fires is True


def test_rows_are_new_by_their_groups() -> None:
    earlier: list[Row] = [{"message": "a", "n": 1}, {"message": None, "n": 1}]
    rows: list[Row] = [
        {"message": "a", "n": 70},
        {"message": "b", "n": 2},
        {"message": None, "n": 9},
        {"message": "", "n": 3},
    ]

    finding = new_rows(rows, earlier, ["message"])

    assert finding == Finding(True, 2, 0, [rows[1], rows[3]], "b, (none)")


def test_groups_are_compared_together() -> None:
    earlier = [{"path": "/a", "message": "x"}, {"path": "/b", "message": "y"}]
    rows = [{"path": "/a", "message": "y", "n": 1}]

    finding = new_rows(rows, earlier, ["path", "message"])

    assert finding == Finding(True, 1, 0, rows, "/a / y")


def test_without_groups_texts_tell_rows_apart() -> None:
    earlier = [{"name": "Google", "visitors": 4}]
    rows = [{"name": "Google", "visitors": 9}, {"name": "Bing", "visitors": 9}]

    assert new_rows(rows, earlier, ()) == Finding(True, 1, 0, [rows[1]], "Bing")


def test_instants_do_not_tell_rows_apart() -> None:
    earlier = [{"name": "boom", "last_seen": "2026-11-29T02:10:00.000Z"}]
    rows = [{"name": "boom", "last_seen": "2026-11-30T02:10:00.000Z"}]

    assert new_rows(rows, earlier, ()).fires is False


@pytest.mark.parametrize("rows", [[], [{"message": "a", "n": 2}]])
def test_nothing_new_does_not_fire(rows: list[dict[str, Any]]) -> None:
    assert new_rows(rows, [{"message": "a", "n": 1}], ["message"]) == Finding(False, 0, 0, [], "")


def test_five_new_rows_are_shown_and_the_others_counted() -> None:
    rows = [{"message": f"m{i}"} for i in range(7)]

    finding = new_rows(rows, [], ["message"])

    assert finding == Finding(True, 7, 0, rows[:5], "m0, m1, m2, m3, m4 and 2 more")


def test_a_long_name_is_cut() -> None:
    assert new_rows([{"message": "x" * 500}], [], ["message"]).words == "x" * 120


@pytest.mark.parametrize(
    ("rows", "column", "number"),
    [
        ([], None, None),
        ([], "visits", None),
        ([{"visits": 3}, {"visits": 9}], None, 3),
        ([{"path": "/", "visits": 3, "errors": 4}], None, 3),
        ([{"path": "/", "visits": 3, "errors": 4}], "errors", 4),
        ([{"bot": True, "share": 0.5}], None, 0.5),
        ([{"share": None, "visits": 2}], None, 2),
        ([{"share": None, "visits": 2}], "share", None),
        ([{"path": "/", "bot": True}], None, None),
        ([{"visits": 0}], None, 0),
    ],
)
def test_the_number_of_a_result(
    rows: list[dict[str, Any]], column: str | None, number: float | None
) -> None:
    assert number_in(rows, column) == number


def test_a_column_that_the_result_has_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        number_in([{"visits": 3}], "visitors")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (14.0, "14"),
        (0.333, "0.33"),
        (99.999, "100.00"),
        (1234567.8, "1,234,568"),
        (-0.5, "-0.50"),
    ],
)
def test_numbers_for_people(value: float, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("column", ["path", "bot"])
def test_a_column_that_is_no_number_is_an_error(column: str) -> None:
    with pytest.raises(ValueError, match=column):
        number_in([{"path": "/", "bot": True}], column)
