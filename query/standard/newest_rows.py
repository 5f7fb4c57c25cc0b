"""Finds when the rows on a page of the newest are, so that only their time is read.

The numbers of rows by quarter of an hour, from prepared parts or else from few columns of stored
rows, tell since when the rows up to the end of the page are, and how many there are in all.
"""

from collections.abc import Sequence
from itertools import accumulate

from msgspec import structs

from query.engine.engine import Row
from query.prepared.not_prepared import NotPrepared
from query.prepared.part_tables import QUARTER_MS
from query.request.time_range import TimeRange
from query.scope.scope import Scope
from query.standard.declaration.listing import NewestRows
from query.standard.page_keys import PageKeys
from query.standard.prepared_query import PreparedQuery
from schemas.telemetry.instruments import LIST_PAGES


async def find_newest_rows(
    prepared: PreparedQuery, newest: NewestRows, last: int
) -> tuple[PreparedQuery, PageKeys]:
    """The query in the time of its newest rows up to the `last`, with the number of all rows.

    Pages that are found by prepared results are remembered with them.
    """
    try:
        counts = await prepared.rows_of(newest.form)
    except NotPrepared:
        LIST_PAGES.labels("rows").inc()
        counts = await prepared.fetch(newest.counts)
    else:
        LIST_PAGES.labels("prepared").inc()
        prepared = prepared.remembering
    found = PageKeys(since_row(prepared.scope, counts, last), sum(count for _, count in counts))
    return prepared.with_keys(found), found


def since_row(scope: Scope, counts: Sequence[Row], last: int) -> Scope:
    """The scope from the quarter of its newest rows up to the `last`.

    `counts` are quarters since 1970 in ascending order, and the number of rows in each.
    """
    own = scope.time_range
    from_end = counts[::-1]
    sums = accumulate(count for _, count in from_end)
    quarters = (row[0] for row, known in zip(from_end, sums, strict=True) if known >= last)
    first = next(quarters, counts[0][0] if counts else own.end_ms // QUARTER_MS)
    start_ms = max(own.start_ms, first * QUARTER_MS)
    return structs.replace(
        scope, time_range=TimeRange(start_ms, own.end_ms, own.zone), fact_range=own
    )
