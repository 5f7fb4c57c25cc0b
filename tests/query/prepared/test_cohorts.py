"""Cohorts of rollups, held against a computation visitor by visitor."""

from collections import Counter

import numpy as np
import pytest

from query.prepared import cohorts
from query.prepared.cohorts import Cohorts, CohortsOfNew
from tests.query.prepared.test_session_groups import RANGE
from tests.query.prepared.test_totals import (
    BUCKETS,
    FIRST,
    OF_QUARTER,
    PARTS,
    QUARTERS,
    joined,
    some_rows,
)


@pytest.fixture(params=[None, 0], ids=["flags", "sorted"], autouse=True)
def flags(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to find distinct pairs."""
    if request.param is not None:
        monkeypatch.setattr(cohorts, "MAX_FLAGS", request.param)


@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(8))
def test_visitors_by_their_first_bucket_and_each_later_one(seed: int, stored: int | None) -> None:
    rows = some_rows(seed, 60)
    within = [row for row in rows if FIRST <= row.quarter < FIRST + QUARTERS]
    pairs = {(row.visitor, int(OF_QUARTER[row.quarter - FIRST])) for row in within} | {(70, 0)}
    known = {pair for pair in pairs if pair[0] != -1}
    first = {visitor: min(b for v, b in known if v == visitor) for visitor, _ in known}
    expected = Counter((first[visitor], bucket) for visitor, bucket in known)

    assert Cohorts(BUCKETS).rows(joined(rows, stored), RANGE) == [
        (1, None, 0, cohort * 1000, bucket * 1000, expected[cohort, bucket])
        for cohort in range(BUCKETS)
        for bucket in range(BUCKETS)
        if expected[cohort, bucket]
    ]
    assert len(expected) > BUCKETS


def test_visitors_before_the_range_are_in_no_cohort() -> None:
    rows = some_rows(3, 60)
    rollups = joined(rows)
    earlier = sorted({row.visitor for row in rows} - {-1})[::2]
    rollups.earlier = np.array(earlier, np.int64)
    of_others = joined([row for row in rows if row.visitor not in earlier])

    found = CohortsOfNew(BUCKETS).rows(rollups, RANGE)

    assert found == Cohorts(BUCKETS).rows(of_others, RANGE) != Cohorts(BUCKETS).rows(rollups, RANGE)
    assert CohortsOfNew(BUCKETS).rows(joined(rows), RANGE) == Cohorts(BUCKETS).rows(rollups, RANGE)


def test_more_buckets_than_cohorts_may_be_have_no_rows() -> None:
    assert Cohorts(BUCKETS - 1).rows(joined([]), RANGE) is None
    assert CohortsOfNew(BUCKETS - 1).rows(joined([]), RANGE) is None
