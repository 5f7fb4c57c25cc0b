"""Consecutive views of one page are one."""

import numpy as np

from query.prepared.page_changes import page_changes
from query.prepared.page_views import OrderedViews


def test_changes_begin_with_each_session_and_page() -> None:
    views = OrderedViews(
        np.array([1, 1, 1, 1, 2, 2, 5]),
        np.array([7, 8, 8, 7, 9, 9, 9]),
        np.array([0, 0, 1, 0, 0, 0, 0]),
        ["/", "/a"],
    )
    changes = page_changes(views)

    assert changes.pages.tolist() == [0, 1, 0, 0, 0]
    assert changes.sessions.tolist() == [1, 1, 1, 2, 5]
    assert changes.visitors.tolist() == [7, 8, 7, 9, 9]  # of the first view of the page
    assert changes.starts.tolist() == [0, 3, 4]
    assert changes.ends_of(np.arange(5)).tolist() == [3, 3, 3, 4, 5]


def test_no_views_have_no_changes() -> None:
    nothing = np.empty(0, np.int64)
    changes = page_changes(OrderedViews(nothing, nothing, nothing, []))
    assert len(changes.pages) == len(changes.starts) == 0
