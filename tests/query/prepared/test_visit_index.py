"""The first page view of a visit, whichever part has it."""

from collections.abc import Mapping

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.visit_index import index_visits


def rows(*visits: tuple[int, int, int]) -> Mapping[str, Numbers]:
    """Rows of visits: session, quarter and milliseconds after it."""
    keys, quarters, starts = zip(*visits, strict=True) if visits else ((), (), ())
    return {
        "session_key": np.array(keys, np.int64),
        "quarter": np.array(quarters, np.uint32),
        "start_ms": np.array(starts, np.uint32),
    }


def test_the_earliest_row_of_a_session_is_its_visit() -> None:
    index = index_visits(rows((7, 10, 5), (3, 11, 0), (7, 9, 899_999), (7, 10, 4), (3, 12, 0)))

    assert index is not None
    assert index.rows_of(np.array([7, 3, 7])).tolist() == [2, 1, 2]


def test_a_session_without_a_page_view_is_after_the_last_row() -> None:
    index = index_visits(rows((7, 10, 5), (3, 11, 0)))
    nothing = index_visits(rows())

    assert index is not None
    assert index.rows_of(np.array([5, 9, 1, 3])).tolist() == [2, 2, 2, 1]
    assert nothing is not None
    assert nothing.rows_of(np.array([5])).tolist() == [0]


def test_rows_that_tie_for_the_first_have_no_index() -> None:
    assert index_visits(rows((7, 10, 5), (3, 10, 5), (7, 10, 5))) is None
    assert index_visits(rows((7, 10, 5), (7, 11, 5), (7, 11, 5))) is not None
