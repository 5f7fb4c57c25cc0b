"""Sessions in groups, held against a computation row by row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from msgspec import structs

from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.prepared.session_groups import SessionsByBucket, SessionsByDuration
from query.standard.types.session_groups import DURATIONS
from tests.query.prepared.test_totals import (
    BUCKETS,
    FIRST,
    OF_QUARTER,
    PARTS,
    QUARTERS,
    SessionRow,
    joined,
    some_rows,
)

RANGE = QuarterHours(FIRST, FIRST + QUARTERS, OF_QUARTER, [i * 1000 for i in range(BUCKETS)])
STORED = (None, PARTS, PARTS - 1)

Session = tuple[int, int, int]
"""The bucket in which it began, its visitor and its milliseconds."""


def distinct_rows(seed: int) -> list[SessionRow]:
    """Rows of which no two page views of a session are at one millisecond."""
    chance = Random(seed)
    return [
        structs.replace(row, start_ms=i, before_views_ms=chance.choice((0, 5_000)))
        for i, row in enumerate(some_rows(seed))
    ]


def sessions(rows: Sequence[SessionRow]) -> list[Session]:
    """The sessions with a page view, one after the other."""
    by_key: Mapping[int, list[SessionRow]] = defaultdict(list)
    for row in rows:
        if FIRST <= row.quarter < FIRST + QUARTERS:
            by_key[row.session_key].append(row)
    return [made for own in by_key.values() if (made := session(own))]


def session(rows: Sequence[SessionRow]) -> Session | None:
    viewed = [row for row in rows if row.views]
    if not viewed:
        return None
    first = min(viewed, key=lambda row: start(row) + row.before_views_ms)
    visible = (sum(row.visible for row in rows) + 5) // 10
    span = max(start(row) + row.span_ms for row in rows) - min(map(start, rows))
    bucket = OF_QUARTER[min(row.quarter for row in viewed) - FIRST]
    return int(bucket), first.visitor, max(span, visible)


def start(row: SessionRow) -> int:
    return row.quarter * QUARTER_MS + row.start_ms


def visitors(own: Sequence[Session]) -> int:
    return len({visitor for _, visitor, _ in own} - {-1})


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("seed", range(8))
def test_sessions_by_bucket(seed: int, stored: int | None) -> None:
    rows = distinct_rows(seed)
    of_bucket = [[each for each in sessions(rows) if each[0] == i] for i in range(BUCKETS)]

    assert SessionsByBucket().rows(joined(rows, stored), RANGE) == [
        (i * 1000, len(own), visitors(own), sum(ms for *_, ms in own), len(own))
        for i, own in enumerate(of_bucket)
        if own
    ]


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("seed", range(8))
def test_sessions_by_duration(seed: int, stored: int | None) -> None:
    rows = distinct_rows(seed)
    named: Mapping[str, list[Session]] = defaultdict(list)
    for each in sessions(rows):
        named[[name for least, name in DURATIONS if least <= each[2]][-1]].append(each)
    expected = [(name, len(own), visitors(own)) for name, own in named.items()]

    found = SessionsByDuration(DURATIONS).rows(joined(rows, stored), RANGE)

    assert found == sorted(expected, key=lambda row: (-row[1], row[0]))
    assert len(expected) > 3


def test_two_visitors_at_the_first_millisecond_of_a_session_are_not_told() -> None:
    row = SessionRow(FIRST, 7, 1, 10, 0, 0, 1, 0, 0, 1)
    same, other = structs.replace(row, quarter=FIRST), structs.replace(row, visitor=8)
    later = structs.replace(other, before_views_ms=1)

    def rows(rollups: RollupView) -> Sequence[object] | None:
        return SessionsByBucket().rows(rollups, RANGE)

    assert rows(joined([row, other])) is None
    assert rows(joined([row, other], PARTS)) is None
    assert rows(joined([row, same])) == [(0, 1, 1, 0, 1)]
    assert rows(joined([row, later])) == [(0, 1, 1, 0, 1)]


def test_no_rows_make_no_groups() -> None:
    for stored in STORED:
        assert SessionsByBucket().rows(joined([], stored), RANGE) == []
        assert SessionsByDuration(DURATIONS).rows(joined([], stored), RANGE) == []
