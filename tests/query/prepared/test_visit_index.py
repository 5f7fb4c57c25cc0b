"""The first and the last page view of a visit, whichever rollup has it."""

from collections.abc import Mapping

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.visits_index import first_of_each, index_visits


def rows(*visits: tuple[int, int, int]) -> Mapping[str, Numbers]:
    """Rows of visits: session, quarter and milliseconds after it; each lasts a second."""
    keys, quarters, starts = zip(*visits, strict=True) if visits else ((), (), ())
    return {
        "session_key": np.array(keys, np.int64),
        "quarter": np.array(quarters, np.uint32),
        "start_ms": np.array(starts, np.uint32),
        "span_ms": np.full(len(starts), 1000, np.uint16),
    }


def test_the_earliest_row_of_a_session_is_its_visit() -> None:
    index = index_visits(rows((7, 10, 5), (3, 11, 0), (7, 9, 899_999), (7, 10, 4), (3, 12, 0)), 8)

    assert index is not None
    assert index[[7, 3, 7]].tolist() == [2, 1, 2]


def test_the_latest_row_of_a_session_has_its_last_page_view() -> None:
    index = index_visits(rows((7, 10, 5), (3, 11, 0), (7, 9, 899_999), (7, 10, 4)), 8, is_last=True)

    assert index is not None
    assert index[[7, 3, 5]].tolist() == [0, 1, 4]


def test_a_session_without_a_page_view_is_after_the_last_row() -> None:
    index = index_visits(rows((7, 10, 5), (3, 11, 0)), 8)
    nothing = index_visits(rows(), 2)

    assert index is not None
    assert index.tolist() == [2, 2, 2, 1, 2, 2, 2, 0]
    assert nothing is not None
    assert nothing.tolist() == [0, 0]


def test_the_first_of_each_key_is_known_when_all_at_its_time_have_one_value() -> None:
    keys, times = np.array([2, 1, 2, 2]), np.array([5, 9, 5, 7])

    chosen = first_of_each(keys, times, np.array([70, 80, 70, 90]), 3)

    assert chosen is not None
    assert chosen.tolist()[:2] == [4, 1]
    assert (keys[chosen[2]], times[chosen[2]]) == (2, 5)
    assert first_of_each(keys, times, np.array([70, 80, 60, 90]), 3) is None


def test_rows_that_tie_for_the_first_have_no_index() -> None:
    assert index_visits(rows((7, 10, 5), (3, 10, 5), (7, 10, 5)), 8) is None
    assert index_visits(rows((7, 10, 5), (7, 11, 5), (7, 11, 5)), 8) is not None
    assert index_visits(rows((7, 10, 5), (7, 11, 5), (7, 11, 5)), 8, is_last=True) is None
