"""Sessions of a range: those of the index, and what the range cuts, as all rows tell them."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.prepared.rollup_view import RollupView
from query.prepared.totals_index import (
    index_totals,
    range_correction,
    rows_of_sessions,
    session_columns,
)
from tests.query.prepared.test_totals import PARTS, joined, some_rows

COLUMNS = ("keys", "quarters", "duration_ms", "visitors")


def sessions(rows: RollupView) -> Sequence[tuple[int, ...]]:
    """Hash of the session, and its columns, in an order of their own."""
    keys, *others = session_columns(rows, *COLUMNS)
    hashes = rows.hashes("session_key", keys.astype(np.int64)).tolist()
    visitors = rows.hashes("visitor", others.pop().astype(np.int64)).tolist()
    return sorted(zip(hashes, *(each.tolist() for each in others), visitors, strict=True))


@pytest.mark.parametrize("stored", [PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_all_rows(seed: int, stored: int) -> None:
    rows = [row for row in some_rows(seed, 60) if row.visitor >= 0]

    found = sessions(joined(rows, stored))

    assert found == sessions(joined(rows))
    assert found


def test_what_the_range_cuts_is_left_out_and_made_anew() -> None:
    whole = joined(some_rows(3), PARTS)
    index = whole.index("totals", index_totals)
    assert index is not None

    changed = range_correction(whole, index)

    assert changed.low <= changed.without.min() <= changed.without.max() < changed.high
    assert len(changed.anew.keys)


def test_only_the_rows_near_the_edges_are_read_where_all_sessions_are_known() -> None:
    whole = joined(some_rows(3), PARTS)
    first, end = whole.first, whole.end

    def read(starts: Sequence[int], ends: Sequence[int], *flagged: int) -> list[tuple[int, int]]:
        flags = np.zeros(whole.count("session_key"), np.bool_)
        flags[[*flagged]] = True
        keys = np.array([5, 6])
        rows = rows_of_sessions(whole, flags, keys, np.array(starts), np.array(ends))
        return [(each.first, each.end) for each in rows]

    assert read([first - 9, end - 2], [first + 1, end]) == [(first, first + 2), (end - 2, end)]
    assert read([first - 9, end], [first - 1, end]) == [(first, first), (end, end)]
    assert read([first - 9, first], [end - 1, end]) == [(first, end)]
    assert read([first - 9, end - 2], [first + 1, end], 5, 6) == [
        (first, first + 2),
        (end - 2, end),
    ]
    assert read([first - 9, end - 2], [first + 1, end], 7) == [(first, end)]
