"""Differences between two responses."""

import pytest

from tests.bench.clickhouse.comparison import first_difference

OURS = [{"name": "/", "pageviews": 12, "percentage": 33.33}]


@pytest.mark.parametrize("share", [33.325, 33.333333333333336, 33.335])
def test_a_rounded_share_is_that_of_the_unrounded_one(share: float) -> None:
    assert first_difference(OURS, [{"label": "/", "pageviews": 12, "percentage": share}]) is None


def test_an_instant_is_equal_as_text() -> None:
    ours = [{"last": "2026-10-30T22:17:29.179Z"}]

    assert first_difference(ours, [{"last": "2026-10-30T22:17:29.179Z"}]) is None
    assert first_difference(ours, [{"last": "2026-10-30T22:17:29.178Z"}]) == (
        "row 0, last: '2026-10-30T22:17:29.179Z' and '2026-10-30T22:17:29.178Z'"
    )


@pytest.mark.parametrize(
    ("theirs", "difference"),
    [
        ([], "1 rows and 0 rows"),
        (
            [{"label": "/", "pageviews": 13, "percentage": 33.33}],
            "row 0, pageviews: 12 and 13",
        ),
        (
            [{"label": "/", "pageviews": "12", "percentage": 33.33}],
            "row 0, pageviews: 12 and '12'",
        ),
        (
            [{"label": "/", "pageviews": 12, "percentage": 33.34}],
            "row 0, percentage: 33.33 and 33.34",
        ),
        (
            [{"label": "/", "pageviews": 12}],
            "row 0: fields ['name', 'pageviews', 'percentage'] and ['name', 'pageviews']",
        ),
    ],
)
def test_a_difference_names_row_field_and_values(
    theirs: list[dict[str, object]], difference: str
) -> None:
    assert first_difference(OURS, theirs) == difference


def test_the_order_of_rows_is_part_of_the_answer() -> None:
    two = [{"name": "a", "visitors": 1}, {"name": "b", "visitors": 1}]

    assert first_difference(two, two[::-1]) == "row 0, name: 'a' and 'b'"
