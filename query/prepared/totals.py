"""Totals of buckets from parts: page views, visitors, sessions with their exact median duration."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.session_totals import session_totals
from query.prepared.totals_index import COUNTS, TABLES, TOTALS_INDEX, TotalsIndex, index_totals


class BucketTotals(Struct, frozen=True):
    """What the rows of one bucket add up to."""

    page_views: int
    visitors: int
    row_count: int
    sessions: int
    bounces: int
    session_page_views: int
    duration_ms: int
    """Of all sessions together."""
    median_low_ms: int
    median_high_ms: int
    """The two middle durations; 0 without sessions."""


NO_TOTALS = BucketTotals(*[0] * len(BucketTotals.__struct_fields__))
"""Of no rows."""


def bucket_totals(joined: JoinedParts, buckets: Numbers, count: int) -> Sequence[BucketTotals]:
    """The totals of `count` buckets; `buckets` has the bucket of each quarter that is asked for."""
    views, rows, visitors = row_totals(joined, buckets, count)
    of_sessions = session_totals(joined.whole_sessions, buckets, count)
    columns = (views, visitors, rows, *structs.astuple(of_sessions))
    return [BucketTotals(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]


def row_totals(
    joined: JoinedParts, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        return _of_rows(joined, buckets, count)
    return _of_rows_indexed(joined, index, buckets, count)


def _of_rows(joined: JoinedParts, buckets: Numbers, count: int) -> tuple[Numbers, Numbers, Numbers]:
    """Page views, rows and distinct visitors of each bucket."""
    of_row, visitors, views, rows = _columns(joined, buckets)
    distinct = joined.distinct(of_row, visitors, count)
    return sums(of_row, views, count), sums(of_row, rows, count), distinct


def _columns(joined: JoinedParts, buckets: Numbers) -> Sequence[Numbers]:
    """The bucket of each row, its visitor, page views and rows."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, *COUNTS)
    tables = [joined.columns(table, *names) for table in TABLES]
    quarters, *others = (np.concatenate([table[name] for table in tables]) for name in names)
    return buckets[quarters.astype(np.int64) - joined.first], *others


def _of_rows_indexed(
    joined: JoinedParts, index: TotalsIndex, buckets: Numbers, count: int
) -> tuple[Numbers, Numbers, Numbers]:
    found = index.of_rows(joined.first, buckets, count)
    if not joined.has_rest:
        return found
    views, rows, visitors = found
    flags = joined.rest_flags(TABLES, VISITOR_COLUMN)
    known = joined.of_flagged(VISITOR_COLUMN, flags, with_rest=False)
    of_known, known_visitors, *_ = _columns(known, buckets)
    of_rest, rest_visitors, rest_views, rest_rows = _columns(joined.of_rest(), buckets)
    both = np.concatenate([of_known, of_rest]), np.concatenate([known_visitors, rest_visitors])
    counted_already = joined.distinct(of_known, known_visitors, count)
    return (
        views + sums(of_rest, rest_views, count),
        rows + sums(of_rest, rest_rows, count),
        visitors + joined.distinct(*both, count) - counted_already,
    )
