"""Sessions from rollups: as all rows tell them, with and without an index."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from query.prepared.listed_keys import ListedKeys
from query.prepared.quarter_hours import whole_range
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.prepared.session_lists import SessionList
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import Values, column_rows, columns_of, join
from tests.query.prepared.test_totals import FIRST, PARTS, QUARTERS, SessionRow, some_rows

Q = QUARTER_MS
NAMES = ("quarter", "session_key", "views", "start_ms", "span_ms", "visible", "pages")


def joined(stored: int | None = None) -> RollupView:
    """Session 7 in two rollups and quarters, 8 without a page view, 9 in one quarter."""
    of_parts = [
        [(10, 7, 2, 5, 100, 0, 2), (10, 8, 0, 6, 0, 0, 0), (11, 7, 1, 0, 0, 0, 1)],
        [(10, 7, 3, 1, 2, 0, 2), (11, 9, 4, 3, 0, 1_250_000, 3), (12, 9, 1, 0, 0, 0, 1)],
    ]
    nothing = {"visitor": 1, "before_views_ms": 0, "others": 0, "row_count": 1}
    rollups = [
        part_of([dict(zip(NAMES, row, strict=True)) | nothing for row in rows]) for rows in of_parts
    ]
    return join(rollups, 10, 12, stored=stored)


def part_of(sessions: Sequence[Mapping[str, int]]) -> Rollup:
    """Sessions, and other events of two of them and of none."""
    columns = {name: [row[name] for row in sessions] for name in sessions[0]}
    events: dict[str, Values] = {
        "quarter": [10, 11, 11],
        "session_key": [7, 9, -1],
        "visitor": [1, 1, 1],
        "of_outbound_domain": [None, "a.example", None],
        "row_count": [2, 3, 4],
    }
    sessionless: dict[str, Values] = {"quarter": [], "visitor": [], "views": [], "row_count": []}
    tables: Mapping[str, Mapping[str, Values]] = {
        "sessions": columns, "other_events": events, "sessionless": sessionless,
    }  # fmt: skip
    return make_rollup({name: column_rows(each) for name, each in tables.items()})


def random_parts(seed: int) -> list[Rollup]:
    """Sessions of several quarters and rollups, with other events in the same quarters."""
    chance = Random(seed)
    rows = [row for row in some_rows(seed, 120) if row.visitor >= 0]
    return [random_part(chance, rows[i::PARTS]) for i in range(PARTS)]


def random_part(chance: Random, rows: Sequence[SessionRow]) -> Rollup:
    sessions = dict(columns_of(SessionRow, rows)) | {"pages": [row.views for row in rows]}
    having = [row for row in rows if chance.random() < 0.4]
    events: dict[str, Values] = {
        "quarter": [row.quarter for row in having],
        "session_key": [row.session_key for row in having],
        "visitor": [row.visitor for row in having],
        "of_outbound_domain": [chance.choice((None, "a.example")) for _ in having],
        "row_count": [chance.randrange(1, 5) for _ in having],
    }
    sessionless: dict[str, Values] = {
        "quarter": [FIRST], "visitor": [70], "views": [2], "row_count": [3],
    }  # fmt: skip
    tables = {"sessions": sessions, "other_events": events, "sessionless": sessionless}
    return make_rollup({name: column_rows(each) for name, each in tables.items()})


def listed(joined: RollupView, *, with_events: bool) -> ListedKeys:
    quarters = whole_range(TimeRange(joined.first * Q, joined.end * Q, "UTC"))
    assert quarters is not None
    return SessionList(with_events=with_events).rows(joined, quarters)


def told(keys: ListedKeys) -> dict[int, object]:
    """All that is known of each session, by its hash."""
    bounds = [each.tolist() for name in sorted(keys.values) for each in keys.values[name]]
    return {row[0]: (row, own) for row, *own in zip(keys, *bounds, strict=True)}


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_sessions_with_a_page_view_are_listed_with_their_first_and_last_instant(
    stored: int | None,
) -> None:
    rows = listed(joined(stored), with_events=False)

    assert sorted(rows) == [
        (7, 10 * Q + 1, 11 * Q),
        (9, 11 * Q + 3, 11 * Q + 3),
    ]
    assert rows[1:] == [rows[1]]


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_distinct_pages_are_between_the_most_of_one_row_and_the_sum_of_all(
    stored: int | None,
) -> None:
    rows = listed(joined(stored), with_events=True)
    at = [row[0] for row in rows].index
    values = {
        name: [[each.tolist()[at(session)] for session in (7, 9)] for each in bounds]
        for name, bounds in rows.values.items()
    }

    assert values.pop("unique_pages") == [[2, 3], [5, 3]]
    assert {name: low for name, (low, high) in values.items() if low == high} == {
        "first_visit": [10 * Q + 1, 11 * Q + 3],
        "last_visit": [11 * Q, 11 * Q + 3],
        "page_views": [6, 4],
        "duration_seconds": [899, 125],
        "custom_events": [4, 0],
        "analytics_engagement_events": [0, 6],
    }


@pytest.mark.parametrize("stored", [PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(5))
def test_an_index_gives_those_of_all_rows(seed: int, stored: int) -> None:
    rollups = random_parts(seed)
    ranges = [(FIRST, FIRST + QUARTERS), (FIRST + 3, FIRST + 5), (FIRST - 2, FIRST + QUARTERS + 2)]

    for first, end in ranges:
        found = listed(join(rollups, first, end, stored=stored), with_events=True)

        assert told(found) == told(listed(join(rollups, first, end), with_events=True))
        assert len(found)
