"""Sessions from parts."""

from query.prepared.joined_parts import JoinedParts
from query.prepared.listed_keys import ListedKeys
from query.prepared.part import make_part
from query.prepared.part_tables import QUARTER_MS
from query.prepared.quarters import whole_range
from query.prepared.session_lists import SessionList
from query.request.time_range import TimeRange
from tests.query.prepared.parts import Values, column_rows, join

Q = QUARTER_MS
QUARTERS = whole_range(TimeRange(10 * Q, 12 * Q, "UTC"))


def joined(*, stored: int) -> JoinedParts:
    """Session 7 in two parts and quarters, 8 without a page view, 9 in one quarter."""
    names = ("quarter", "session_key", "views", "start_ms", "span_ms", "visible", "pages")
    of_parts = [
        [(10, 7, 2, 5, 100, 0, 2), (10, 8, 0, 6, 0, 0, 0), (11, 7, 1, 0, 0, 0, 1)],
        [(10, 7, 3, 1, 2, 0, 2), (11, 9, 4, 3, 0, 1_250_000, 3), (12, 9, 1, 0, 0, 0, 1)],
    ]
    parts = []
    for rows in of_parts:
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        events: dict[str, Values] = {
            "quarter": [10, 11, 11],
            "session_key": [7, 9, -1],
            "visitor": [1, 1, 1],
            "of_outbound_domain": [None, "a.example", None],
            "row_count": [2, 3, 4],
        }
        sessions = column_rows({**columns, "visitor": [1] * len(rows)})
        parts.append(make_part({"sessions": sessions, "other_events": column_rows(events)}))
    return join(parts, 10, 12, stored=stored)


def listed(joined: JoinedParts, *, with_events: bool) -> ListedKeys:
    assert QUARTERS is not None
    return SessionList(with_events=with_events).rows(joined, QUARTERS)


def test_sessions_with_a_page_view_are_listed_with_their_first_and_last_instant() -> None:
    for stored in (0, 1, 2):
        rows = listed(joined(stored=stored), with_events=False)

        assert sorted(rows) == [
            (7, 10 * Q + 1, 11 * Q),
            (9, 11 * Q + 3, 11 * Q + 3),
        ]
        assert rows[1:] == [rows[1]]


def test_distinct_pages_are_between_the_most_of_one_row_and_the_sum_of_all() -> None:
    rows = listed(joined(stored=2), with_events=True)
    values = {name: [each.tolist() for each in bounds] for name, bounds in rows.values.items()}

    assert [row[0] for row in rows] == [7, 9]
    assert values.pop("unique_pages") == [[2, 3], [5, 3]]
    assert {name: low for name, (low, high) in values.items() if low == high} == {
        "first_visit": [10 * Q + 1, 11 * Q + 3],
        "last_visit": [11 * Q, 11 * Q + 3],
        "page_views": [6, 4],
        "duration_seconds": [899, 125],
        "custom_events": [4, 0],
        "analytics_engagement_events": [0, 6],
    }
