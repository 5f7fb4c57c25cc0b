"""Rebuilds the rollups of websites, ahead of the queries that would make them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import product

from msgspec import Struct

from query.engine.damaged_files import DamagedFiles
from query.engine.data_file_source import data_file_source
from query.engine.pools import custom_limits, open_pool
from query.engine.snapshots import PinnedVersion, SnapshotCache
from query.prepared.prepared_results import MAX_PENDING, PreparedResults, prepared_results
from query.prepared.store import LOADS, SEQUENCES, TOTALS, VITALS, stored_table
from query.scope.row_scope import Scope
from query.scope.visitor_sets import all_time
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, Table

POOL = "rebuild"
KINDS = (LOADS, VITALS, SEQUENCES, TOTALS)
"""Totals come last: in a folder that is full they are asked for more often."""


class Rebuilt(Struct, frozen=True, rename={"rollups": "parts"}):
    """What was made."""

    websites: int
    rollups: int
    not_prepared: int
    """Rollups of data files that are too diverse, or could not be read: queries read their rows."""
    size: int
    """Bytes of all rollups."""


async def rebuild(
    settings: Settings,
    websites: Sequence[str],
    report: Callable[[int, int], None],
    clock: Clock = now_ms,
) -> Rebuilt | None:
    """Make the rollups of these websites; None when prepared results are switched off.

    `report` gets the rollups so far, and the websites that are done. Data files of the running day
    have no rollups yet.
    """
    source = data_file_source(settings)
    damaged = DamagedFiles(settings.lake_url, settings.data, source)
    spill = settings.data / "spill" / POOL
    with closing(open_pool(POOL, source, spill, custom_limits(settings), damaged)) as engine:
        results = prepared_results(settings, engine, clock)
        if results is None:
            return None
        return await _rebuild(settings, results, websites, report, clock)


async def _rebuild(
    settings: Settings,
    results: PreparedResults,
    websites: Sequence[str],
    report: Callable[[int, int], None],
    clock: Clock,
) -> Rebuilt:
    snapshots = SnapshotCache(settings.lake_url, clock)
    tables = (stored_table(kind) for kind in KINDS)
    pinned = {t.name: await snapshots.pin_at(t, None) for t in tables}
    counts = {True: 0, False: 0}
    for i, (kind, website) in enumerate(product(KINDS, websites)):
        done = max(0, i - len(websites) * (len(KINDS) - 1))

        def count(is_made: bool, done: int = done) -> None:
            counts[is_made] += 1
            report(counts[True], done)

        results.remove(website, kind)
        scope = _scope(pinned, stored_table(kind), website)
        while waiting := results.want_all(scope, kind):
            await results.make_pending(count)
            if waiting < MAX_PENDING:
                break  # what is missing now gave way to others: the folder is full
    return Rebuilt(len(websites), counts[True], counts[False], results.size)


def _scope(pinned: Mapping[str, PinnedVersion], table: Table, website: str) -> Scope:
    """All rows of a website in a table."""
    of_table, events = pinned[table.name], pinned[EVENTS.name]
    return Scope(of_table, table.subject_column, (website,), all_time("UTC"), events=events)
