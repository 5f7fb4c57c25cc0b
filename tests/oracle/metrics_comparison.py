"""Oracle of comparisons of metrics: each row beside the same one of the days before."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow
from tests.oracle.comparison import change, percent
from tests.oracle.metrics import MetricsQuery, is_series, page_of, points_of, shown, values_of
from tests.oracle.metrics_groups import BUCKETS, Key
from tests.oracle.stored_rows import RowsByTable

NO_COUNTS = (
    *("time_on_page", "scroll_depth", "bounce_rate", "visit_duration", "median_visit_duration"),
    *("views_per_visit", "exit_rate", "error_rate", "errors_per_view"),
    *("p50", "p75", "p90", "p95", "good", "needs_improvement", "poor"),
)
"""Metrics, by what they begin with, that are nothing where there is nothing."""


def expected_comparison(held: RowsByTable, query: MetricsQuery) -> ResultRow:
    """The comparison in the response."""
    days = query.end - query.start + timedelta(days=1)
    other = replace(query, start=query.start - days, end=query.end - days)
    start, beyond = wall_clock.bounds(other.start, other.end, other.zone)
    before = values_of(held, replace(other, having=()), is_series(query))
    moves = [_moves(name, query, other) for name in query.dimensions]
    return {
        "start": wall_clock.iso(start),
        "end": wall_clock.iso(beyond),
        "rows": [
            _beside(query, other, row, _same_place(key, moves), before)
            for key, row in page_of(held, query)
        ],
    }


def _moves(name: str, query: MetricsQuery, other: MetricsQuery) -> Mapping[Any, Any] | None:
    """Each bucket with the one as far from the beginning of the days before; None of others."""
    if not name.startswith("time:") or name.removeprefix("time:") not in BUCKETS:
        return None
    return dict(zip(points_of(query, name), points_of(other, name), strict=False))


def _same_place(key: Key, moves: Sequence[Mapping[Any, Any] | None]) -> Key | None:
    """The same values in the days before; None where these have no such bucket."""
    pairs = list(zip(key, moves, strict=True))
    if any(move is not None and value not in move for value, move in pairs):
        return None
    return tuple(value if move is None else move[value] for value, move in pairs)


def _beside(
    query: MetricsQuery,
    other: MetricsQuery,
    row: ResultRow,
    key: Key | None,
    before: dict[Key, ResultRow],
) -> ResultRow:
    if key is None or key not in before:
        assert key is None or not is_series(query)
        grown = key is not None
        new = {n: v if grown and not n.startswith(NO_COUNTS) else None for n, v in row.items()}
        return {"previous": None, "change": new, "changePercent": dict.fromkeys(row)}
    was = before[key]
    return {
        "previous": shown(other, key, was),
        "change": {n: None if v is None else change(v, was[n]) for n, v in row.items()},
        "changePercent": {n: None if v is None else percent(v, was[n]) for n, v in row.items()},
    }
