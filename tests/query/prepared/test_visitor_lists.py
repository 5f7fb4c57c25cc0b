"""Visitors from rollups."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from query.prepared.listed_keys import ListedKeys
from query.prepared.quarter_hours import whole_range
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import NO_HASH, QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.prepared.visitor_lists import FURTHER, VisitorList
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import column_rows, join

Q = QUARTER_MS
FIRST, END = 10, 13
EVERYTHING = VisitorList().with_fields(tuple(FURTHER))

SESSIONS = ("quarter", "visitor", "session_key", "start_ms", "span_ms", "row_count", "views")
SESSIONLESS = ("quarter", "visitor", "row_count", "views")
PAGES = ("quarter", "visitor", "of_path", "views")
EVENTS = ("quarter", "visitor", "of_name", "of_outbound_domain", "row_count")


def a_part(**rows: Sequence[tuple[object, ...]]) -> Rollup:
    """A rollup with rows of these tables."""
    columns = {
        "sessions": SESSIONS,
        "sessionless": SESSIONLESS,
        "pages": PAGES,
        "other_events": EVENTS,
    }
    made = {
        name: column_rows({c: [row[i] for row in rows.get(name, [])] for i, c in enumerate(names)})  # type: ignore[misc]
        for name, names in columns.items()
    }
    return make_rollup(made)


PARTS = (
    a_part(
        sessions=[(9, 1, 70, 0, 5, 9, 9), (10, 1, 71, 5, 100, 3, 2), (10, NO_HASH, 72, 0, 0, 1, 1)],
        sessionless=[(11, 2, 4, 0), (12, NO_HASH, 1, 1)],
        pages=[(10, 1, "/", 1), (10, 1, "/a", 1), (10, NO_HASH, "/", 1), (12, NO_HASH, None, 1)],
        other_events=[(10, 1, "buy", None, 1), (11, 2, "buy", None, 3), (11, 2, "x", "a.eu", 1)],
    ),
    a_part(
        sessions=[(11, 1, 71, 0, 7, 1, 0), (12, 1, 73, 1, 0, 2, 2), (12, 3, 73, 9, 0, 1, 1)],
        sessionless=[(12, 1, 1, 1), (12, 2, 1, 1), (13, 4, 1, 1)],
        pages=[(12, 1, "/a", 1), (12, 1, None, 1), (12, 1, "/b", 1), (12, 3, "/b", 1)],
        other_events=[(11, 1, "buy", None, 1)],
    ),
)  # fmt: skip


def listed(joined: RollupView, form: VisitorList) -> ListedKeys:
    quarters = whole_range(TimeRange(FIRST * Q, END * Q, "UTC"))
    assert quarters is not None
    return form.rows(joined, quarters)


def test_visitors_with_a_row_in_the_range_are_listed_with_what_their_rows_add_up_to() -> None:
    for stored in (0, 1, 2):
        rows = listed(join(PARTS, FIRST, END, stored=stored), EVERYTHING)
        values = {
            name: list(zip(*(each.tolist() for each in bounds), strict=True))
            for name, bounds in rows.values.items()
        }

        found = {h: {f: values[f][i] for f in values} for i, h in enumerate(rows.hashes.tolist())}

        exact = dict.fromkeys(FURTHER, (0, 0))
        assert found == {
            1: {
                "first_visit": (10 * Q + 5,) * 2,
                "last_visit": (12 * Q + 1, 13 * Q - 1),
                "total_events": (7, 7),
                "page_views": (5, 5),
                "session_count": (2, 2),
                "unique_pages": (3, 3),
                "custom_event_count": (2, 2),
                "unique_event_names": (1, 1),
            },
            2: {
                **exact,
                "first_visit": (11 * Q, 12 * Q - 1),
                "last_visit": (12 * Q, 13 * Q - 1),
                "total_events": (5, 5),
                "page_views": (1, 1),
                "custom_event_count": (3, 3),
                "unique_event_names": (1, 1),
            },
            3: {
                **exact,
                "first_visit": (12 * Q + 9,) * 2,
                "last_visit": (12 * Q + 9,) * 2,
                "total_events": (1, 1),
                "page_views": (1, 1),
                "session_count": (1, 1),
                "unique_pages": (1, 1),
            },
        }
        assert sorted(rows) == [
            (1, 10 * Q + 5, 13 * Q - 1),
            (2, 11 * Q, 13 * Q - 1),
            (3, 12 * Q + 9, 12 * Q + 9),
        ]


def test_instants_are_exact_where_all_rows_have_sessions() -> None:
    rollup = a_part(sessions=[(10, 5, 1, 3, 4, 1, 1), (11, 6, 2, 8, 0, 1, 0)])

    rows = listed(join([rollup], FIRST, END), VisitorList())

    for field in ("first_visit", "last_visit"):
        low, high = rows.values[field]
        assert low is high
    assert [*rows] == [(5, 10 * Q + 3, 10 * Q + 7), (6, 11 * Q + 8, 11 * Q + 8)]


def test_only_the_tables_of_the_fields_that_are_ordered_by_are_read() -> None:
    usual = VisitorList().with_fields(("last_visit", "page_views"))

    assert usual == VisitorList()
    assert usual.tables == ["sessions", "sessionless"]
    assert VisitorList().with_fields(("session_count",)).tables == usual.tables
    assert EVERYTHING.tables == ["sessions", "sessionless", "pages", "other_events"]
    assert VisitorList().with_fields((*reversed([*FURTHER]), "page_views")) == EVERYTHING
    assert {"first_visit", "total_events", *FURTHER} <= {*EVERYTHING.fields}


@given(
    st.lists(
        st.tuples(
            st.integers(FIRST, END - 1), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)
        ),
        max_size=8,
        unique_by=lambda row: row[:3],
    ),
    st.lists(st.tuples(st.integers(FIRST, END - 1), st.integers(1, 3)), max_size=4, unique=True),
    st.integers(0, 2),
)
def test_true_instants_are_never_outside_the_bounds(
    with_session: list[tuple[int, int, int, int]], without: list[tuple[int, int]], stored: int
) -> None:
    """Sessionless rows are at millisecond 5 of their quarter here, which rollups do not know."""
    own = [(q, v, s, start, 1, 1, 1) for q, v, s, start in with_session]
    rows = [(q, v, 1, 0) for q, v in without]
    rollups = [
        a_part(sessions=own[::2], sessionless=rows[1::2]),
        a_part(sessions=own[1::2], sessionless=rows[::2]),
    ]
    instants: dict[int, list[int]] = {}
    for q, v, _, start in with_session:
        instants.setdefault(v, []).extend((q * Q + start, q * Q + start + 1))
    for q, v in without:
        instants.setdefault(v, []).append(q * Q + 5)

    found = listed(join(rollups, FIRST, END, stored=stored), VisitorList())

    assert sorted(found.hashes.tolist()) == sorted(instants)
    for field, end in (("first_visit", min), ("last_visit", max)):
        true = np.array([end(instants[h]) for h in found.hashes.tolist()], np.int64)
        low, high = found.values[field]
        assert (low <= true).all()
        assert (true <= high).all()
