"""Rows of a source with columns of other tables: the places and the visit of their session.

Most sessions have one text of each place in all of their rows, which then is that of a row of any
table. Those with several are looked up by quarter, session and visitor, as are rows without a
session.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import sort_order
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import SESSIONLESS, SOURCES, label
from query.prepared.row_sources import ALL_ROWS, VISIT_FIELDS, RowSource
from query.prepared.session_places import index_places, place_texts, session_places
from query.prepared.session_values import session_values
from query.prepared.text_filters import rows_kept
from query.request.filter_struct import Filter, fields_named

QUARTER_SHIFT = 33
"""Bits of a key below its quarter."""


class UntoldTexts(Exception):
    """Parts cannot tell a text of some rows."""


class SourceRows:
    """The rows of a source that filters keep."""

    def __init__(
        self, joined: JoinedParts, source: RowSource, filters: Sequence[Filter] = ()
    ) -> None:
        """UntoldTexts when parts cannot tell which rows meet the filters."""
        self._joined = joined
        self._source = source
        self._at: Numbers | None = None
        self._counts = self._all_counts()
        self._keep(self._counts > 0)
        for each in sorted(filters, key=lambda each: not all(map(source.has, fields_named(each)))):
            names = fields_named(each)
            kept = rows_kept({name: self.texts(name) for name in names}, self.row_count, [each])
            self._keep(kept)

    @property
    def row_count(self) -> int:
        """The number of rows, each of which stands for rows of events."""
        return len(self._counts)

    @property
    def counts(self) -> Numbers:
        """The rows of events that each row stands for, at least one."""
        return self._counts

    def numbers(self, name: str) -> Numbers:
        """The quarter, visitor or session of each row."""
        return self._kept(self._concatenated(name))

    def texts(self, field: str) -> NumberedTexts:
        """A field of each row; UntoldTexts when parts cannot tell it."""
        if self._source.has(field):
            numbers, texts = self._own_texts(field)
            return self._kept(numbers), texts
        if field in VISIT_FIELDS:
            return self._visit_texts(VISIT_FIELDS[field])
        return self._place_texts(field)

    def _all_counts(self) -> Numbers:
        of_tables = []
        for each in self._source.tables:
            columns = self._joined.columns(each.table.name, *each.added, *each.subtracted)
            counts = columns[each.added[0]]
            for name in each.added[1:]:
                counts = counts.astype(np.int64) + columns[name]
            for name in each.subtracted:
                counts = counts.astype(np.int64) - columns[name]
            of_tables.append(counts)
        return np.concatenate(of_tables)

    def _concatenated(self, name: str) -> Numbers:
        tables = (each.table.name for each in self._source.tables)
        return np.concatenate([self._joined.columns(table, name)[name] for table in tables])

    def _own_texts(self, field: str) -> NumberedTexts:
        if self._source is ALL_ROWS:
            return place_texts(self._joined, field)
        [counted] = self._source.tables
        return self._joined.text_numbers(counted.table.name, label(field))

    def _keep(self, kept: Numbers) -> None:
        if kept.all():
            return
        at = np.flatnonzero(kept)
        self._at = at if self._at is None else self._at[at]
        self._counts = self._counts[at]

    def _kept(self, values: Numbers) -> Numbers:
        return values if self._at is None else values[self._at]

    def _place_texts(self, field: str) -> NumberedTexts:
        """The text that the rows of the session have."""
        joined = self._joined
        places = None if joined.has_rest else session_places(joined, field)
        places = places or index_places(joined, field)
        sessions = self.numbers(SESSION_COLUMN)
        own = places.of_sessions[sessions]
        if len(places.sessions):
            is_looked_up = np.zeros(len(places.of_sessions), np.bool_)
            is_looked_up[places.sessions] = True
            known = Lookup(places.quarters, places.visitors, places.sessions, places.of_rows)
            self._look_up(own, np.flatnonzero(is_looked_up[sessions]), sessions, known)
        return own, places.texts

    def _visit_texts(self, fact: str) -> NumberedTexts:
        """The fact of the visit; of a row without a session its own."""
        values = session_values(self._joined, fact)
        if values is None:
            raise UntoldTexts
        sessions = self.numbers(SESSION_COLUMN)
        own = values.numbers[sessions]
        without = np.flatnonzero(sessions == WITHOUT)
        if not len(without):
            return own, values.texts
        if fact not in SOURCES:
            raise UntoldTexts
        texts = {text: i for i, text in enumerate(values.texts)}
        numbers, further = self._joined.text_numbers(SESSIONLESS.name, label(fact))
        mapping = np.array([texts.setdefault(text, len(texts)) for text in further], np.int64)
        rows = self._joined.columns(SESSIONLESS.name, QUARTER_COLUMN, VISITOR_COLUMN)
        quarters, visitors = rows[QUARTER_COLUMN], rows[VISITOR_COLUMN]
        nobody = np.full(len(quarters), WITHOUT)
        own = own.astype(np.int64)
        self._look_up(own, without, sessions, Lookup(quarters, visitors, nobody, mapping[numbers]))
        return own, list(texts)

    def _look_up(self, own: Numbers, at: Numbers, sessions: Numbers, known: "Lookup") -> None:
        """Put the numbers of rows that are looked up in their places."""
        if len(at):
            quarters, visitors = (
                self.numbers(name)[at] for name in (QUARTER_COLUMN, VISITOR_COLUMN)
            )
            own[at] = known.numbers_of(quarters, visitors, sessions[at])


class Lookup(Struct, frozen=True, eq=False):
    """Numbers of texts by quarter, visitor and session."""

    quarters: Numbers
    visitors: Numbers
    sessions: Numbers
    numbers: Numbers

    def numbers_of(self, quarters: Numbers, visitors: Numbers, sessions: Numbers) -> Numbers:
        """The number of each key; UntoldTexts when one has several."""
        keys = _keys(self.quarters, self.visitors, self.sessions)
        order = sort_order(keys)
        keys, numbers = keys[order], self.numbers[order]
        has_several = np.flatnonzero((keys[1:] == keys[:-1]) & (numbers[1:] != numbers[:-1]))
        wanted = _keys(quarters, visitors, sessions)
        if np.isin(keys[has_several], wanted).any():
            raise UntoldTexts
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if (keys[found] != wanted).any():
            raise UntoldTexts
        own: Numbers = numbers[found]
        return own


def _keys(quarters: Numbers, visitors: Numbers, sessions: Numbers) -> Numbers:
    """By quarter and session, or visitor where there is no session."""
    without = sessions == WITHOUT
    owners: Numbers = np.where(without, visitors, sessions).astype(np.int64)
    keys: Numbers = (quarters.astype(np.int64) << QUARTER_SHIFT) | (owners << 1) | without
    return keys
