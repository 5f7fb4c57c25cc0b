"""Page views of sessions in their order, and where the page changes."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.prepared.page_views import OrderedViews, ordered_views, page_changes
from query.prepared.rollup import Rollup
from query.prepared.rollup_view import RollupView
from tests.query.prepared.rollups import join, part_of

NAMES = ("quarter", "visitor", "session_key", "start_ms", "tie", "of_path")
View = tuple[int, int, int, int, int, str]


def rollup(*views: View) -> Rollup:
    return part_of("page_views", **dict(zip(NAMES, zip(*views, strict=True), strict=True)))


def paths(views: OrderedViews | None) -> dict[int, Sequence[str]] | None:
    """The pages of each session, in order."""
    if views is None:
        return None
    found: dict[int, list[str]] = {}
    for session, page in zip(views.sessions.tolist(), views.pages.tolist(), strict=True):
        found.setdefault(session, []).append(views.texts[page])
    assert [*views.texts] == sorted(views.texts)
    return dict(found)


# quarter, visitor, session, ms in the quarter, tie, path
MORNING = rollup((10, 70, 1, 5, 0, "/b"), (10, 70, 1, 5, 1, "/a"), (11, 70, 1, 3, 0, "/c"),
               (11, 80, 2, 0, 0, "/"))  # fmt: skip
LATE = rollup((10, 70, 1, 4, 0, "/late"), (10, 70, 1, 6, 0, "/z"), (12, 90, 3, 1, 0, "/a"))
OTHER = rollup((11, 70, 1, 1, 0, "/rest"), (12, 95, 4, 1, 0, "/only"))


@pytest.mark.parametrize("stored", [None, 0, 1, 2, 3])
def test_views_of_several_parts_are_in_order(stored: int | None) -> None:
    joined = join([MORNING, LATE, OTHER], 10, 13, stored=stored or None)
    found = paths(ordered_views(joined))
    assert found is not None
    assert sorted(map(tuple, found.values())) == [
        ("/",), ("/a",), ("/late", "/b", "/a", "/z", "/rest", "/c"), ("/only",)
    ]  # fmt: skip


@pytest.mark.parametrize("stored", [None, 1, 3])
def test_a_range_has_its_own_views_only(stored: int | None) -> None:
    joined = join([MORNING, LATE, OTHER], 11, 12, stored=stored)
    found = paths(ordered_views(joined))
    assert found is not None
    assert sorted(map(tuple, found.values())) == [("/",), ("/rest", "/c")]


def tied(stored: int | None, path: str, visitor: int) -> RollupView:
    other = rollup((10, visitor, 1, 5, 0, path), (20, 70, 9, 1, 0, "/x"))
    return join([rollup((10, 70, 1, 5, 0, "/b")), other], 10, 13, stored=stored)


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_an_order_that_parts_do_not_have_is_not_told(stored: int | None) -> None:
    assert ordered_views(tied(stored, "/a", 70)) is None
    assert ordered_views(tied(stored, "/b", 80)) is None
    assert paths(ordered_views(tied(stored, "/b", 70))) == {1: ["/b", "/b"]}


def test_no_views_are_no_sessions() -> None:
    assert paths(ordered_views(join([MORNING], 50, 60, stored=1))) == {}
    assert paths(ordered_views(join([MORNING], 50, 60))) == {}


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
