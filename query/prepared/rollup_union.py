"""Combines the rollups of a query into one view with shared ids, which stays in memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.forms import RollupPlan
from query.prepared.index_store import IndexCache, is_small
from query.prepared.quarter_hours import QuarterHours
from query.prepared.result_cache import ByteCache, digest
from query.prepared.rollup import SESSION_COLUMN, AnyRollup, Rollup
from query.prepared.rollup_reader import ReadPlan, RollupReader, StoredRollup
from query.prepared.rollup_tables import QUARTER_MS, SESSIONS, VISITS
from query.prepared.rollup_view import NOBODY, RollupView, VisitView, WholeView
from query.prepared.shared_ids import (
    AddedIds,
    ColumnIds,
    RollupDictionaries,
    RollupsWithIds,
    SharedDictionary,
    SharedIds,
    shared_dictionary,
    shared_ids,
)
from query.prepared.store import RollupKey
from query.prepared.visits_index import VISIT_COLUMNS, index_visits

ALWAYS = (0, 2**31)
"""QuarterHours of all rows."""


class RollupUnion:
    """The rollups of one query, and those with the facts of its visits."""

    def __init__(
        self,
        memory: ByteCache,
        reader: RollupReader,
        indexes: IndexCache,
        known: frozenset[RollupKey],
        rows_of: tuple[ReadPlan, Sequence[Rollup]],
        visits_of: tuple[ReadPlan, Sequence[Rollup]] | None,
        earlier: Numbers = NOBODY,
    ) -> None:
        """`known` has all stored rollups of both; indexes are built from these."""
        self._memory = memory
        self._reader = reader
        self._indexes = indexes
        self._known = known
        self._rows_of = rows_of
        self._visits_of = visits_of
        self._earlier = earlier
        self._few = is_small(known, rows_of[0].scope.pinned.version.data_files)
        both = [of for of in (rows_of, visits_of) if of is not None]
        self._rests = [rollup for _, rollups in both for rollup in rollups]
        self._rest_keys = [rows.key for reading, _ in both for rows in reading.rows]

    def rows(self, form: RollupPlan, quarters: QuarterHours) -> Sequence[Row] | None:
        """The rows of a form; None when rollups do not determine them."""
        reading, _ = self._rows_of
        whole = None if self._few else WholeView(self._whole, self._made)
        on_the_fly = self._rows_of[1]
        numbered = self._numbered(reading.prepared, on_the_fly, slice(len(on_the_fly)))
        joined = RollupView(numbered, quarters.first, quarters.end, whole)
        joined.earlier = self._earlier
        if self._visits_of is not None:
            joined.visits = self._visits(joined, self._visits_of)
        return form.rows(joined, quarters)

    def _made(self, name: object, make: Callable[[], Any]) -> Any:
        """An index of the known rollups."""
        return self._indexes.made(name, self._known, make, stored=not self._few)

    def _numbered(
        self,
        keys: Sequence[RollupKey],
        on_the_fly: Sequence[Rollup] = (),
        which: slice | None = None,
    ) -> RollupsWithIds:
        """Stored rollups, and some that are aggregated on the fly."""
        rollups = [*self._stored(keys), *on_the_fly]
        numbers = cache(partial(self._numbers, keys, which))
        of_rests = range(len(self._known), len(self._known) + len(on_the_fly))
        part_numbers = [*map(self._part_numbers.__getitem__, keys), *of_rests]
        texts = cache(partial(self._texts, keys, on_the_fly))
        return RollupsWithIds(rollups, numbers, len(keys), part_numbers, texts)

    @cached_property
    def _part_numbers(self) -> Mapping[RollupKey, int]:
        """The numbers of the known rollups."""
        return {key: i for i, key in enumerate(sorted(self._known))}

    def _texts(
        self, keys: Sequence[RollupKey], on_the_fly: Sequence[Rollup], table: str, column: str
    ) -> RollupDictionaries:
        """The dictionaries of a column, of stored rollups and of those aggregated on the fly."""
        known: SharedDictionary = self._indexes.made(
            ("texts", table, column),
            self._known,
            lambda: shared_dictionary(
                {key: self._reader.texts(key, table, column) for key in self._known}
            ),
            stored=False,
        )
        if not on_the_fly:
            return known.of(keys, ())
        own = [self._rest_keys[self._rests.index(rest)] for rest in on_the_fly]
        key = ("texts of rollups on the fly", table, column, self._known, digest(keys, own))
        of_rests = [rest.table(table).texts[column] for rest in on_the_fly]
        texts: RollupDictionaries = self._memory.made(key, lambda: known.of(keys, of_rests))
        return texts

    def _stored(self, keys: Sequence[RollupKey]) -> list[AnyRollup]:
        return [StoredRollup(self._reader, k, self._ts_ranges.get(k.data_file)) for k in keys]

    @cached_property
    def _ts_ranges(self) -> Mapping[str, tuple[int, int] | None]:
        """Between which times the rows of each data file are, where known."""
        reading, _ = self._rows_of
        return {file.path: file.ts_range for file in reading.scope.pinned.version.data_files}

    def _whole(self) -> RollupView:
        """All rows of the known rollups."""
        numbered = self._numbered(sorted(self._known))
        whole = RollupView(numbered, *ALWAYS)
        if self._visits_of is not None:
            visits = RollupView(numbered, *ALWAYS)
            whole.visits = VisitView(visits, partial(positions_of_visits, whole, visits))
        return whole

    def _numbers(
        self, keys: Sequence[RollupKey], on_the_fly: slice | None, column: str
    ) -> ColumnIds:
        """The numbers of a column, of stored rollups and of some that are aggregated on the fly.

        Without these, the ids of stored rollups: indexes serve queries with other rows on the fly.
        """
        numbering: SharedIds = self._made(
            ("numbering", column),
            lambda: shared_ids(column, self._known, self._reader.hashes),
        )
        by_part = [numbering.by_part[key] for key in keys]
        if on_the_fly is None or not self._rests:
            return ColumnIds(numbering.hashes, NOBODY, by_part)
        hashes = [rollup.hashes.get(column, NOBODY) for rollup in self._rests]
        further: AddedIds = self._memory.made(
            ("numbers of rollups on the fly", column, self._known, digest(self._rest_keys)),
            lambda: numbering.with_added(hashes),
        )
        return ColumnIds(numbering.hashes, further.new, [*by_part, *further.by_part[on_the_fly]])

    def _visits(self, joined: RollupView, of: tuple[ReadPlan, Sequence[Rollup]]) -> VisitView:
        """The facts of the visits."""
        reading, _ = of
        time_range = reading.scope.time_range
        first, end = time_range.start_ms // QUARTER_MS, time_range.end_ms // QUARTER_MS
        on_the_fly = slice(len(self._rows_of[1]), None)
        facts = RollupView(self._numbered(reading.prepared, of[1], on_the_fly), first, end)
        return VisitView(facts, partial(self._positions, joined, facts, reading))

    def _positions(
        self, joined: RollupView, facts: RollupView, visits_of: ReadPlan, is_last: bool
    ) -> Numbers | None:
        reading, _ = self._rows_of
        key = ("of_sessions", is_last, reading.key, visits_of.key, joined.first, joined.end)
        positions: Numbers | None = self._memory.get(key)
        if positions is None:
            positions = positions_of_visits(joined, facts, is_last)
            if positions is not None:
                self._memory.put(key, positions, positions.nbytes)
        return positions


def positions_of_visits(joined: RollupView, facts: RollupView, is_last: bool) -> Numbers | None:
    """For each row of sessions the position of its visit; None when they are not determined."""
    count = facts.count(SESSION_COLUMN)
    index = index_visits(facts.columns(VISITS.name, *VISIT_COLUMNS), count, is_last=is_last)
    if index is None:
        return None
    sessions = joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]
    return index.astype(np.uint32)[sessions]
