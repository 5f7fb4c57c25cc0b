"""Event tables, whose rows together stand for events, and the fields of their rows.

Most sessions have one text of each attribute in all of their rows, which then is that of a row of
any table. Those with several are looked up by the keys of rows, as are rows without a session.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.attribute_rank import RANK_COLUMN
from query.prepared.attribute_rank import TABLES as TABLES_OF_PLACES
from query.prepared.not_prepared import AMBIGUOUS_VISIT_FACTS, TOO_MANY_ATTRIBUTES, NotPrepared
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import (
    ATTRIBUTES,
    DEVICES,
    ENTRY_PAGE,
    EXIT_PAGE,
    FACTS,
    OTHER_EVENTS,
    OTHER_FACTS,
    SESSIONLESS,
    SESSIONS,
    SOURCES,
    RollupTable,
    label,
)
from query.prepared.rollup_view import RollupView
from query.prepared.selection import LinkKeys
from query.prepared.session_attributes import index_attributes, session_attributes
from query.prepared.shared_ids import WITHOUT
from query.prepared.visits_index import fact_values
from query.scope.visits import VISIT_PREFIX

VISIT_FIELDS = {VISIT_PREFIX + fact: fact for fact in (*SOURCES, ENTRY_PAGE, EXIT_PAGE, *DEVICES)}
"""The facts of visits that rollups have, by the name that fields have for them."""


class CountedTable(Struct, frozen=True):
    """A table of rollups, and the columns that count the rows of events which a row stands for."""

    table: RollupTable
    added: tuple[str, ...]
    subtracted: tuple[str, ...] = ()


class RowSource(Struct, frozen=True):
    """Tables with the same texts, each with rows of its own."""

    tables: tuple[CountedTable, ...]

    def has(self, field: str) -> bool:
        """Whether the tables themselves have a field."""
        return all(label(field) in each.table.texts for each in self.tables)

    def has_field(self, field: str) -> bool:
        """Whether rollups may have a field of its rows."""
        return self.has(field) or field in ATTRIBUTES or field in VISIT_FIELDS

    def tables_read(self, fields: Iterable[str]) -> Sequence[str]:
        """The tables of rollups that its rows and their fields are read from."""
        names = [each.table.name for each in self.tables]
        others = [field for field in fields if not self.has(field)]
        if any(field in ATTRIBUTES for field in others):
            names += TABLES_OF_PLACES
        if any(field in VISIT_FIELDS for field in others):
            names += [SESSIONS.name, SESSIONLESS.name]
        return [*dict.fromkeys(names)]


ALL_ROWS = RowSource(
    (CountedTable(FACTS, ("views", "other_rows")), CountedTable(OTHER_FACTS, ("other_rows",)))
)
OTHER_ROWS = RowSource((CountedTable(OTHER_EVENTS, ("row_count",)),))
"""Custom events and outbound clicks."""


def view_rows(table: RollupTable, *, first_name: bool, second_name: bool) -> RowSource:
    """Page views of one of their names, or of both, from a table that counts them."""
    if not second_name:
        return RowSource((CountedTable(table, ("views",), ("second_name_views",)),))
    return RowSource((CountedTable(table, ("views" if first_name else "second_name_views",)),))


KEY_COLUMNS = (QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN, RANK_COLUMN)


class EventRows:
    """The rows of a source in one rollup, or those of them that are kept."""

    def __init__(self, rollup: RollupView, source: RowSource) -> None:
        self._part = rollup
        self._names = [each.table.name for each in source.tables]
        self._kept: list[RollupView] = [rollup for _ in source.tables]
        self._at: list[Numbers | None] = [None for _ in source.tables]
        self._counts = [_counts(rollup, each) for each in source.tables]
        self.keep(self.counts > 0)

    @property
    def counts(self) -> Numbers:
        """The rows of events that each row stands for, at least one."""
        return _together(self._counts)

    def keep(self, kept: Numbers) -> None:
        """Keep some of the rows."""
        if kept.all():
            return
        ends = np.cumsum([len(each) for each in self._counts])
        for i, own in enumerate(np.split(kept, ends[:-1])):
            at, before = np.flatnonzero(own), self._at[i]
            self._counts[i] = self._counts[i][at]
            positions = at if before is None else before[at]
            self._at[i] = positions
            self._kept[i] = self._part.of_positions(self._names[i], positions)

    def column(self, name: str) -> Numbers:
        """The quarter, visitor, session or place of each row."""
        both = zip(self._names, self._kept, strict=True)
        return _together([kept.columns(table, name)[name] for table, kept in both])

    def of_sessions(self, values: Numbers) -> Numbers:
        """A value by session of each row."""
        both = zip(self._names, self._kept, strict=True)
        return _together([kept.session_values(table, values) for table, kept in both])

    def of_texts(self, field: str, values: Sequence[Numbers | None]) -> Numbers:
        """A value by text of each row, or its number; with those of each table."""
        of_tables = zip(self._names, self._kept, values, strict=True)
        return _together([kept.text_values(t, label(field), own) for t, kept, own in of_tables])


def _counts(rollup: RollupView, counted: CountedTable) -> Numbers:
    columns = rollup.columns(counted.table.name, *counted.added, *counted.subtracted)
    counts = columns[counted.added[0]]
    for name in (*counted.added[1:], *counted.subtracted):
        if columns[name].any():
            sign = 1 if name in counted.added else -1
            counts = counts + sign * columns[name].astype(np.int64)
    return counts


def _together(of_tables: Sequence[Numbers]) -> Numbers:
    return of_tables[0] if len(of_tables) == 1 else np.concatenate(of_tables)


RowValues: TypeAlias = Callable[[EventRows], Numbers]
"""A value of each row; NotPrepared when rollups do not determine it."""


class FieldTexts(Protocol):
    """The texts of a field, numbered alike in all rollups of a query; 0 is the number of NULL."""

    @property
    def texts(self) -> Sequence[str | None]:
        """By number."""

    def values(self, by_number: Numbers | None = None) -> RowValues:
        """The value of each row by the number of its text, or that number."""


def field_texts(joined: RollupView, source: RowSource, field: str) -> FieldTexts:
    """The texts of a field of all rows; NotPrepared as above."""
    if source.has(field):
        return _own_texts(joined, source, field)
    if field in VISIT_FIELDS:
        return _visit_texts(joined, VISIT_FIELDS[field])
    return _place_texts(joined, field)


def in_order(texts: FieldTexts) -> tuple[Sequence[str | None], RowValues]:
    """The texts in ascending order after NULL, and the number of each row's among them."""
    ordered: list[str | None] = [None, *sorted(text for text in texts.texts if text is not None)]
    if ordered == [*texts.texts]:
        return ordered, texts.values()
    rank = {text: i for i, text in enumerate(ordered)}
    ranks = smallest(np.array([rank[text] for text in texts.texts], np.int64))
    return ordered, texts.values(ranks)


class _OfRows(Struct, frozen=True, eq=False):
    """Those that the tables of the rows have."""

    field: str
    texts: Sequence[str | None]
    mappings: Sequence[Numbers | None]
    """By table: the numbers by its own ones; None where these are the same."""

    def values(self, by_number: Numbers | None = None) -> RowValues:
        values = [_mapped(by_number, each) for each in self.mappings]
        return lambda rows: rows.of_texts(self.field, values)


def _mapped(values: Numbers | None, mapping: Numbers | None) -> Numbers | None:
    return values if mapping is None else mapping if values is None else values[mapping]


class _OfSessions(Struct, frozen=True, eq=False):
    """Those of sessions; of some sessions the rows are looked up."""

    by_session: Numbers
    """The number after those of all texts stands for rows that are looked up."""
    texts: Sequence[str | None]
    known: "_Lookup | None"

    def values(self, by_number: Numbers | None = None) -> RowValues:
        own = self.by_session if by_number is None else _marked(by_number)[self.by_session]
        if self.known is None:
            return lambda rows: rows.of_sessions(own)
        known = self.known if by_number is None else self.known.of_values(by_number)
        is_looked_up = self.by_session == len(self.texts)

        def values_of(rows: EventRows) -> Numbers:
            values = rows.of_sessions(own)
            if len(at := np.flatnonzero(rows.of_sessions(is_looked_up))):
                values[at] = known.values(*(rows.column(each)[at] for each in KEY_COLUMNS))
            return values

        return values_of


def _marked(by_number: Numbers) -> Numbers:
    """With some value for rows that are looked up."""
    return np.append(by_number, by_number[:1])


class _Lookup(Struct, frozen=True, eq=False):
    """Values by ascending keys of rows."""

    link_keys: LinkKeys
    keys: Numbers
    of_keys: Numbers
    reason: str
    """Why a value cannot be told."""

    def of_values(self, by_number: Numbers) -> "_Lookup":
        """The values by these numbers: texts that differ may have the same value."""
        return _lookup(self.link_keys, self.keys, by_number[self.of_keys], self.reason)

    def values(self, *columns: Numbers) -> Numbers:
        """The value of each row; NotPrepared when its key has several, or none."""
        wanted = self.link_keys.of(*columns)
        first, end = (np.searchsorted(self.keys, wanted, side) for side in ("left", "right"))
        if (first == end).any():
            raise NotPrepared(self.reason)
        found: Numbers = self.of_keys[first]
        if (found != self.of_keys[end - 1]).any():
            raise NotPrepared(self.reason)
        return found


def _lookup(link_keys: LinkKeys, keys: Numbers, values: Numbers, reason: str) -> _Lookup:
    order = np.lexsort((values, keys))
    return _Lookup(link_keys, keys[order], values[order], reason)


def _own_texts(joined: RollupView, source: RowSource, field: str) -> FieldTexts:
    of_tables = [joined.texts(each.table.name, label(field)) for each in source.tables]
    number = {text: i for i, text in enumerate(of_tables[0])}
    mappings: list[Numbers | None] = [None]
    for texts in of_tables[1:]:
        mapping = [number.setdefault(text, len(number)) for text in texts]
        mappings.append(smallest(np.array(mapping, np.int64)))
    return _OfRows(field, list(number), mappings)


def _place_texts(joined: RollupView, field: str) -> FieldTexts:
    places = None if joined.has_unprepared else session_attributes(joined, field)
    places = places or index_attributes(joined, field)
    inside = (places.quarters >= joined.first) & (places.quarters < joined.end)
    rows = places.quarters, places.visitors, places.sessions, places.places
    keys = joined.link_keys.of(*(each[inside] for each in rows))
    known = _lookup(joined.link_keys, keys, places.of_rows[inside], TOO_MANY_ATTRIBUTES)
    return _of_sessions(places.of_sessions, places.texts, places.sessions, known)


def _visit_texts(joined: RollupView, fact: str) -> FieldTexts:
    """The fact of the visit; of a row without a session its own, which rollups have of sources."""
    values = fact_values(joined, fact)
    if values is None:
        raise NotPrepared(AMBIGUOUS_VISIT_FACTS)
    if fact not in SOURCES:
        nothing = np.empty(0, np.int64)
        known = _lookup(joined.link_keys, nothing, nothing, AMBIGUOUS_VISIT_FACTS)
        return _of_sessions(values.numbers, values.texts, np.array([WITHOUT]), known)
    number = {text: i for i, text in enumerate(values.texts)}
    own, texts = joined.text_numbers(SESSIONLESS.name, label(fact))
    mapping = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    columns = joined.columns(SESSIONLESS.name, QUARTER_COLUMN, VISITOR_COLUMN, RANK_COLUMN)
    quarters, visitors, numbers_of_places = columns.values()
    nobody = np.full(len(own), WITHOUT)
    keys = joined.link_keys.of(quarters, visitors, nobody, numbers_of_places)
    known = _lookup(joined.link_keys, keys, mapping[own], AMBIGUOUS_VISIT_FACTS)
    return _of_sessions(values.numbers, list(number), np.array([WITHOUT]), known)


def _of_sessions(
    by_session: Numbers,
    texts: Sequence[str | None],
    looked_up: Numbers,
    known: _Lookup,
) -> FieldTexts:
    """Those of sessions; the rows of some of them have numbers by key."""
    if not len(looked_up):
        return _OfSessions(by_session, texts, None)
    marked = by_session.astype(np.min_scalar_type(len(texts)))
    marked[looked_up] = len(texts)
    return _OfSessions(marked, texts, known)
