"""Sessions from parts, and what may be among the first of an order."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from query.prepared.joined_parts import JoinedParts
from query.prepared.part import make_part
from query.prepared.part_tables import QUARTER_MS
from query.prepared.quarters import whole_range
from query.prepared.session_lists import (
    ListedSessions,
    ScoreTerm,
    SessionList,
    first_of,
    score_bounds,
)
from query.request.time_range import TimeRange
from tests.query.prepared.parts import Values, column_rows, join

Q = QUARTER_MS
QUARTERS = whole_range(TimeRange(10 * Q, 12 * Q, "UTC"))
SMALL = st.integers(0, 3)


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


def listed(joined: JoinedParts, *, with_events: bool) -> ListedSessions:
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


def test_numbers_by_hash_are_those_of_the_sessions_that_are_listed() -> None:
    rows = listed(joined(stored=1), with_events=False)

    assert dict(zip(rows.hashes.tolist(), rows.of_hashes([(9, 5), (8, 6)]), strict=True)) == {
        7: 0,
        9: 5,
    }
    assert rows.of_hashes([]).tolist() == [0, 0]


@given(
    st.lists(st.tuples(SMALL, SMALL, SMALL), max_size=12),
    st.tuples(st.booleans(), st.booleans()),
    st.integers(1, 5),
)
def test_all_that_may_be_among_the_first_are_found(
    rows: list[tuple[int, int, int]], ascending: tuple[bool, bool], wanted: int
) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    low, high = np.minimum(*columns[:2]), np.maximum(*columns[:2])
    orders = [((low, high), ascending[0]), ((columns[2], columns[2]), ascending[1])]

    found = set(first_of(orders, len(rows), wanted).tolist())

    def key(first: int, i: int) -> tuple[int, int]:
        own = int(columns[2][i])
        return (first if ascending[0] else -first), (own if ascending[1] else -own)

    for chosen in product(*zip(low.tolist(), high.tolist(), strict=True)) if len(rows) < 7 else ():
        in_order = sorted(range(len(rows)), key=lambda i: key(chosen[i], i))
        assert found >= set(in_order[:wanted])
    exact = [i for i in range(len(rows)) if low[i] == high[i]]
    if len(exact) == len(rows) > wanted:
        last = sorted(key(int(low[i]), i) for i in exact)[wanted - 1]
        assert found == {i for i in exact if key(int(low[i]), i) <= last}


def test_a_score_is_between_those_of_the_least_and_of_the_greatest_values() -> None:
    values = {"a": (np.array([1, 9]), np.array([2, 9])), "b": (np.array([250, 5]),) * 2}
    terms = (ScoreTerm(("a",), most=8, weight=3), ScoreTerm(("a", "b"), most=1, divisor=120))

    low, high = score_bounds(terms, values)

    assert (low.tolist(), high.tolist()) == ([4, 24], [7, 24])
