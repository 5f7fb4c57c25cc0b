"""Totals of sessions by bucket: by an index they are those of all rows."""

import numpy as np
import pytest
from msgspec import structs

from query.prepared.totals_index import session_totals
from tests.query.prepared.test_totals import BUCKETS, OF_QUARTER, PARTS, joined, some_rows


@pytest.mark.parametrize("stored", [PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(10))
def test_an_index_and_all_rows_add_up_to_the_same(seed: int, stored: int) -> None:
    rows = some_rows(seed + 100)

    by_index, by_rows = (
        session_totals(joined(rows, each), OF_QUARTER, BUCKETS) for each in (stored, None)
    )

    for own, other in zip(structs.astuple(by_index), structs.astuple(by_rows), strict=True):
        assert own.tolist() == other.tolist()
    assert by_rows.sessions.sum() > 0


def test_a_bucket_without_sessions_has_no_durations() -> None:
    rows = [structs.replace(row, quarter=100, views=1) for row in some_rows(1, 9)]

    totals = session_totals(joined(rows, PARTS), OF_QUARTER, BUCKETS)

    assert np.count_nonzero(totals.sessions) == 1
    assert totals.median_high_ms[totals.sessions == 0].tolist() == [0] * (BUCKETS - 1)
