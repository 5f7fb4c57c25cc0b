"""Active buckets of rollups, held against a computation visitor by visitor."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from query.prepared.cohorts import VisitorsByActivity, WindowChanges
from query.prepared.quarter_hours import QuarterHours
from query.request.time_zones import DAY_MS
from tests.query.prepared.test_totals import (
    BUCKETS,
    FIRST,
    OF_QUARTER,
    PARTS,
    QUARTERS,
    SessionRow,
    joined,
    some_rows,
)

DAYS = QuarterHours(FIRST, FIRST + QUARTERS, OF_QUARTER, [(i + 5) * DAY_MS for i in range(BUCKETS)])


def active_days(rows: list[SessionRow]) -> dict[int, set[int]]:
    """The buckets of each visitor; the visitor 70 is that of the rows without a session."""
    found: dict[int, set[int]] = defaultdict(set)
    found[70].add(0)
    for row in rows:
        if FIRST <= row.quarter < FIRST + QUARTERS and row.visitor != -1:
            found[row.visitor].add(int(OF_QUARTER[row.quarter - FIRST]))
    return found


@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(4))
def test_windows_and_numbers_of_active_buckets(seed: int, stored: int | None) -> None:
    rows = some_rows(seed, 60)
    days = active_days(rows)

    changes = WindowChanges((1, 2)).rows(joined(rows, stored), DAYS)

    for window, place in ((1, 1), (2, 2)):
        for day in range(BUCKETS):
            number = sum(row[place] for row in changes if row[0] <= (day + 5) * DAY_MS)
            recent = {*range(day - window + 1, day + 1)}
            assert number == sum(bool(own & recent) for own in days.values()), (window, day)
    numbers = Counter(len(own) for own in days.values())
    assert VisitorsByActivity().rows(joined(rows, stored), DAYS) == [
        (number, count, count, len(days)) for number, count in sorted(numbers.items())
    ]


def test_nobody_is_active_where_there_are_no_rows() -> None:
    beyond = QuarterHours(900, 901, np.array([0]), [0])
    nobody = joined([]).between(900, 901)
    assert WindowChanges((1, 7)).rows(nobody, beyond) == []
    assert VisitorsByActivity().rows(nobody, beyond) == []
