"""Totals of buckets, held against a computation row by row."""

from collections.abc import Sequence
from random import Random
from statistics import median_high, median_low

import numpy as np
import pytest
from msgspec import Struct, structs

from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import visible_ms
from query.prepared.totals_index import NO_TOTALS, BucketTotals, bucket_totals
from tests.query.prepared.rollups import column_rows, columns_of, join

FIRST, QUARTERS, BUCKETS, PARTS = 100, 12, 3, 3
OF_QUARTER = np.arange(QUARTERS) * BUCKETS // QUARTERS


class SessionRow(Struct, frozen=True):
    """What a session did in a quarter-hour."""

    quarter: int
    visitor: int
    session_key: int
    start_ms: int
    span_ms: int
    before_views_ms: int
    views: int
    others: int
    visible: int
    row_count: int


def some_rows(seed: int, count: int = 400) -> list[SessionRow]:
    chance = Random(seed)
    return [
        SessionRow(
            FIRST + chance.randrange(-2, QUARTERS + 2),
            chance.choice((-1, *range(60))),
            chance.randrange(150),
            chance.randrange(QUARTER_MS // 2),
            chance.choice((0, 9_999, 10_000, QUARTER_MS // 2)),
            0,
            chance.choice((0, 1, 1, 2)),
            chance.choice((0, 0, 1)),
            chance.choice((0, 99_994, 99_995, 100_000, 36_000_000)),
            chance.randrange(1, 5),
        )
        for _ in range(count)
    ]


def joined(rows: Sequence[SessionRow], stored: int | None = None) -> RollupView:
    """The rows in several rollups."""
    rollups = [with_sessionless(rows[i::PARTS]) for i in range(PARTS)]
    return join(rollups, FIRST, FIRST + QUARTERS, stored=stored)


def with_sessionless(rows: Sequence[SessionRow]) -> Rollup:
    """The rows, and one of visitor 70 in the first quarter that belongs to no session."""
    sessionless = {"quarter": [FIRST], "visitor": [70], "views": [2], "row_count": [3]}
    tables = {"sessions": columns_of(SessionRow, rows), "sessionless": sessionless}
    return make_rollup({name: column_rows(columns) for name, columns in tables.items()})


def expected(rows: Sequence[SessionRow]) -> list[BucketTotals]:
    """The totals of sessions, one after the other."""
    kept = [row for row in rows if FIRST <= row.quarter < FIRST + QUARTERS]
    found: list[list[tuple[int, int, bool]]] = [[] for _ in range(BUCKETS)]
    for key in {row.session_key for row in kept}:
        own = [row for row in kept if row.session_key == key]
        views = sum(row.views for row in own)
        if not views:
            continue
        starts = [row.quarter * QUARTER_MS + row.start_ms for row in own]
        ends = [start + row.span_ms for start, row in zip(starts, own, strict=True)]
        visible = (sum(row.visible for row in own) + 5) // 10
        duration = max(max(ends) - min(starts), visible)
        others = sum(row.others for row in own)
        bounced = views == 1 and not others and duration < 10_000
        quarter = min(row.quarter for row in own if row.views)
        found[OF_QUARTER[quarter - FIRST]].append((views, duration, bounced))
    by_bucket = [[r for r in kept if OF_QUARTER[r.quarter - FIRST] == i] for i in range(BUCKETS)]
    return [of_bucket(*each) for each in zip(range(BUCKETS), by_bucket, found, strict=True)]


def of_bucket(
    bucket: int, rows: Sequence[SessionRow], sessions: Sequence[tuple[int, int, bool]]
) -> BucketTotals:
    """The totals; those of the first bucket with the rows that belong to no session."""
    first = bucket == 0
    visitors = {row.visitor for row in rows} - {-1} | ({70} if first else set())
    durations = [duration for _, duration, _ in sessions] or [0]
    return BucketTotals(
        page_views=sum(row.views for row in rows) + PARTS * 2 * first,
        visitors=len(visitors),
        row_count=sum(row.row_count for row in rows) + PARTS * 3 * first,
        sessions=len(sessions),
        bounces=sum(bounced for *_, bounced in sessions),
        session_page_views=sum(views for views, *_ in sessions),
        duration_ms=sum(durations),
        median_low_ms=median_low(durations),
        median_high_ms=median_high(durations),
    )


@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(20))
def test_sessions_are_joined_over_quarters_and_parts(seed: int, stored: int | None) -> None:
    rows = some_rows(seed)

    assert bucket_totals(joined(rows, stored), OF_QUARTER, BUCKETS) == expected(rows)


@pytest.mark.parametrize("stored", [PARTS, PARTS - 1])
def test_short_sessions_are_cut_at_both_ends(stored: int) -> None:
    rows = [
        structs.replace(row, quarter=FIRST + row.session_key // 10 + row.quarter % 2)
        for row in some_rows(7, 2000)
    ]

    assert bucket_totals(joined(rows, stored), OF_QUARTER, BUCKETS) == expected(rows)


@pytest.mark.parametrize("stored", [PARTS, PARTS - 1])
def test_medians_of_many_sessions(stored: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query.prepared.sessions_index.DURATION_BLOCK", 16)
    rows = [
        structs.replace(row, session_key=i // 2, span_ms=row.span_ms + i * i % 977)
        for i, row in enumerate(some_rows(11, 1000))
    ]

    assert bucket_totals(joined(rows, stored), OF_QUARTER, BUCKETS) == expected(rows)


@pytest.mark.parametrize("quarters", [15, 16, 255, 256, 257])
def test_last_quarters_with_new_visitors_or_none(quarters: int) -> None:
    """What is searched for in an index may be greater than all of its numbers."""
    visit = structs.replace(some_rows(1, 1)[0], views=1)
    for last in (-1, 2):
        rows = [
            structs.replace(visit, quarter=quarter, visitor=visitor, session_key=visitor + 1)
            for quarter, visitor in ((0, 0), (1, 1), (quarters - 1, last))
        ]
        nothing: dict[str, list[int]] = {"quarter": [], "visitor": [], "views": [], "row_count": []}
        tables = {"sessions": columns_of(SessionRow, rows), "sessionless": nothing}
        rollups = [make_rollup({name: column_rows(columns) for name, columns in tables.items()})]
        whole, end = (join(rollups, first, quarters, stored=1) for first in (0, quarters - 1))
        [of_all] = bucket_totals(whole, np.zeros(quarters, np.int64), 1)
        [of_last] = bucket_totals(end, np.zeros(1, np.int64), 1)
        assert (of_all.visitors, of_last.visitors) == (2 + (last > 0), int(last > 0))


def test_no_rows_have_no_totals() -> None:
    for stored in (None, PARTS, PARTS - 1):
        assert bucket_totals(joined([], stored), OF_QUARTER, BUCKETS) == expected([])
    nothing = join([with_sessionless([])], 0, FIRST)
    assert bucket_totals(nothing, np.zeros(FIRST, np.int64), 1) == [NO_TOTALS]


def test_visible_time_is_rounded_half_away_from_zero() -> None:
    assert visible_ms(np.array([4, 5, 14, 15, -5, -4])).tolist() == [0, 1, 1, 2, -1, 0]
