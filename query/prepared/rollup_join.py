"""Joins the rollups of a query; joined columns stay in memory for the next query of the same."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.forms import PreparedForm
from query.prepared.index_store import KeptIndexes, are_few
from query.prepared.part_reader import PartReader, Reading, StoredPart
from query.prepared.part_tables import QUARTER_MS, SESSIONS, VISITS
from query.prepared.quarters import Quarters
from query.prepared.result_cache import ByteCache, digest
from query.prepared.rollup import SESSION_COLUMN, Part, PartLike
from query.prepared.rollup_view import NOBODY, JoinedParts, JoinedVisits, WholeParts
from query.prepared.shared_ids import (
    ColumnNumbers,
    FurtherNumbers,
    KnownTexts,
    NumberedParts,
    Numbering,
    PartTexts,
    known_texts,
    number_parts,
)
from query.prepared.store import PartKey
from query.prepared.visits_index import VISIT_COLUMNS, index_visits

ALWAYS = (0, 2**31)
"""Quarters of all rows."""


class PartJoin:
    """The parts of one query, and those with the facts of its visits."""

    def __init__(
        self,
        memory: ByteCache,
        reader: PartReader,
        indexes: KeptIndexes,
        known: frozenset[PartKey],
        rows_of: tuple[Reading, Sequence[Part]],
        visits_of: tuple[Reading, Sequence[Part]] | None,
        earlier: Numbers = NOBODY,
    ) -> None:
        """`known` has all stored parts of both, each of which may have rows of other data files."""
        self._memory = memory
        self._reader = reader
        self._indexes = indexes
        self._known = known
        self._rows_of = rows_of
        self._visits_of = visits_of
        self._earlier = earlier
        self._few = are_few(known, rows_of[0].scope.pinned.version.data_files)
        both = [of for of in (rows_of, visits_of) if of is not None]
        self._rests = [part for _, parts in both for part in parts]
        self._rest_keys = [rows.key for reading, _ in both for rows in reading.rows]

    def rows(self, form: PreparedForm, quarters: Quarters) -> Sequence[Row] | None:
        """The rows of a form; None when parts cannot tell them."""
        reading, _ = self._rows_of
        whole = None if self._few else WholeParts(self._whole, self._made)
        rests = self._rows_of[1]
        numbered = self._numbered(reading.prepared, rests, slice(len(rests)))
        joined = JoinedParts(numbered, quarters.first, quarters.end, whole)
        joined.earlier = self._earlier
        if self._visits_of is not None:
            joined.visits = self._visits(joined, self._visits_of)
        return form.rows(joined, quarters)

    def _made(self, name: object, make: Callable[[], Any]) -> Any:
        """An index of the known parts."""
        return self._indexes.made(name, self._known, make, stored=not self._few)

    def _numbered(
        self,
        keys: Sequence[PartKey],
        rests: Sequence[Part] = (),
        which: slice | None = None,
    ) -> NumberedParts:
        """Stored parts, and some of the rests."""
        parts = [*self._stored(keys), *rests]
        numbers = cache(partial(self._numbers, keys, which))
        of_rests = range(len(self._known), len(self._known) + len(rests))
        part_numbers = [*map(self._part_numbers.__getitem__, keys), *of_rests]
        texts = cache(partial(self._texts, keys, rests))
        return NumberedParts(parts, numbers, len(keys), part_numbers, texts)

    @cached_property
    def _part_numbers(self) -> Mapping[PartKey, int]:
        """The numbers of the known parts."""
        return {key: i for i, key in enumerate(sorted(self._known))}

    def _texts(
        self, keys: Sequence[PartKey], rests: Sequence[Part], table: str, column: str
    ) -> PartTexts:
        """The texts of a column of stored parts and rests."""
        known: KnownTexts = self._indexes.made(
            ("texts", table, column),
            self._known,
            lambda: known_texts(
                {key: self._reader.frame(key, table).texts[column] for key in self._known}
            ),
            stored=False,
        )
        if not rests:
            return known.of(keys, ())
        own = [self._rest_keys[self._rests.index(rest)] for rest in rests]
        key = ("texts of rests", table, column, self._known, digest(keys, own))
        of_rests = [rest.table(table).texts[column] for rest in rests]
        texts: PartTexts = self._memory.made(key, lambda: known.of(keys, of_rests))
        return texts

    def _stored(self, keys: Sequence[PartKey]) -> list[PartLike]:
        return [StoredPart(self._reader, k, self._ts_ranges.get(k.data_file)) for k in keys]

    @cached_property
    def _ts_ranges(self) -> Mapping[str, tuple[int, int] | None]:
        """Between which times the rows of each data file are, where known."""
        reading, _ = self._rows_of
        return {file.path: file.ts_range for file in reading.scope.pinned.version.data_files}

    def _whole(self) -> JoinedParts:
        """All rows of the known parts."""
        numbered = self._numbered(sorted(self._known))
        whole = JoinedParts(numbered, *ALWAYS)
        if self._visits_of is not None:
            visits = JoinedParts(numbered, *ALWAYS)
            whole.visits = JoinedVisits(visits, partial(positions_of_visits, whole, visits))
        return whole

    def _numbers(self, keys: Sequence[PartKey], rests: slice | None, column: str) -> ColumnNumbers:
        """The numbers of a column, of stored parts and of some of the rests.

        Without one they are those of stored parts alone: indexes serve queries with other rests.
        """
        numbering: Numbering = self._made(
            ("numbering", column),
            lambda: number_parts(column, self._known, self._reader.hashes),
        )
        by_part = [numbering.by_part[key] for key in keys]
        if rests is None or not self._rests:
            return ColumnNumbers(numbering.hashes, NOBODY, by_part)
        hashes = [part.hashes.get(column, NOBODY) for part in self._rests]
        further: FurtherNumbers = self._memory.made(
            ("numbers of rests", column, self._known, digest(self._rest_keys)),
            lambda: numbering.with_further(hashes),
        )
        return ColumnNumbers(numbering.hashes, further.new, [*by_part, *further.by_part[rests]])

    def _visits(self, joined: JoinedParts, of: tuple[Reading, Sequence[Part]]) -> JoinedVisits:
        """The facts of the visits."""
        reading, _ = of
        time_range = reading.scope.time_range
        first, end = time_range.start_ms // QUARTER_MS, time_range.end_ms // QUARTER_MS
        rests = slice(len(self._rows_of[1]), None)
        facts = JoinedParts(self._numbered(reading.prepared, of[1], rests), first, end)
        return JoinedVisits(facts, partial(self._positions, joined, facts, reading))

    def _positions(
        self, joined: JoinedParts, facts: JoinedParts, visits_of: Reading, is_last: bool
    ) -> Numbers | None:
        reading, _ = self._rows_of
        key = ("of_sessions", is_last, reading.key, visits_of.key, joined.first, joined.end)
        positions: Numbers | None = self._memory.get(key)
        if positions is None:
            positions = positions_of_visits(joined, facts, is_last)
            if positions is not None:
                self._memory.put(key, positions, positions.nbytes)
        return positions


def positions_of_visits(joined: JoinedParts, facts: JoinedParts, is_last: bool) -> Numbers | None:
    """For each row of sessions the position of its visit; None when they cannot be told."""
    count = facts.count(SESSION_COLUMN)
    index = index_visits(facts.columns(VISITS.name, *VISIT_COLUMNS), count, is_last=is_last)
    if index is None:
        return None
    sessions = joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]
    return index.astype(np.uint32)[sessions]
