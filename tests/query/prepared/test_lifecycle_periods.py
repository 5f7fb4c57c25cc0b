"""Active periods of rollups with those before them, held against a computation by visitor."""

from collections import Counter

import numpy as np
import pytest

from query.prepared.cohorts import LifecyclePeriods
from query.prepared.quarter_hours import QuarterHours
from tests.query.prepared.test_active_buckets import DAYS, active_days
from tests.query.prepared.test_totals import PARTS, joined, some_rows

EARLIER = (3, 8, 21, 70, 500)
"""Visitors before the range; 500 does not come again, and 70 is without sessions."""


@pytest.mark.parametrize("earlier", [(), EARLIER])
@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(4))
def test_periods_have_the_one_before_and_who_is_new(
    seed: int, stored: int | None, earlier: tuple[int, ...]
) -> None:
    rows = some_rows(seed, 60)
    expected: Counter[tuple[int, int | None, int]] = Counter()
    for visitor, days in active_days(rows).items():
        before = None
        for day in sorted(days):
            number = DAYS.numbers[day]
            is_new = before is None and visitor not in earlier
            expected[number, before, int(is_new)] += 1
            before = number
    rollups = joined(rows, stored)
    rollups.earlier = np.array(earlier, np.int64)

    found = LifecyclePeriods().rows(rollups, DAYS)

    assert {tuple(key): count for *key, count in found} == expected
    assert len(found) == len(expected) > len(DAYS.numbers)


def test_nobody_is_active_where_there_are_no_rows() -> None:
    beyond = QuarterHours(900, 901, np.array([0]), [0])
    assert LifecyclePeriods().rows(joined([]).between(900, 901), beyond) == []
