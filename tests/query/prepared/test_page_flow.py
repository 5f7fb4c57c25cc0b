"""Page transitions of sessions from rollups."""

from query.prepared.array_rows import ArrayRows
from query.prepared.page_paths import PageFlow
from query.prepared.quarter_hours import whole_range
from query.request.time_range import TimeRange
from tests.query.prepared.test_page_paths import Q, joined, sessions

QUARTERS = whole_range(TimeRange(10 * Q, 11 * Q, "UTC"))
ROWS = [
    ("/", "/a", "/ → /a", 3, 2),
    ("/a", "/", "/a → /", 2, 1),
    ("/a", "/b", "/a → /b", 1, 1),
]


def test_transitions_are_counted_in_order() -> None:
    assert QUARTERS is not None
    found = PageFlow().rows(joined(sessions("/ /a / /a /", "/ /a /a /b", "/b")), QUARTERS)
    assert isinstance(found, ArrayRows)
    assert [*found] == ROWS
    assert found.page([("name", False)], 0, 3) == [ROWS[2], ROWS[1], ROWS[0]]
    assert found.page([("sessions", True), ("to_path", False)], 0, 2) == [ROWS[2], ROWS[1]]
    assert found.page([("from_path", False)], 1, 2) == [ROWS[2]]
    assert found.page([("transitions", True)], 0, 1) == [ROWS[2]]


def test_sessions_of_one_page_have_none() -> None:
    assert QUARTERS is not None
    found = PageFlow().rows(joined(sessions("/", "/a")), QUARTERS)
    assert found is not None
    assert [*found] == []
