"""Breakdown from rollups: page views and distinct visitors by one or two columns of the row."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.array_rows import LazyRows
from query.prepared.groups_index import GroupIndex, index_groups, number_combinations, sums
from query.prepared.rollup import QUARTER_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import BY_COLUMN, label
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import EncodedTexts

Texts: TypeAlias = tuple[str, ...]
"""The texts of a group."""


class NamedGroups(Struct, frozen=True, eq=False):
    """Page views and visitors of groups, by their position in the order of their texts."""

    texts: Sequence[Texts]
    views: Numbers
    visitors: Numbers

    def plus(self, other: "NamedGroups", sign: int = 1) -> "NamedGroups":
        """The sums, or the differences, of groups by their texts; those of self are in order."""
        names, count = self.texts, len(self.texts)
        positions = np.arange(count)
        places = [bisect_left(names, text) for text in other.texts]
        if any(i == count or names[i] != text for i, text in zip(places, other.texts, strict=True)):
            names = sorted({*self.texts, *other.texts})
            number = {name: i for i, name in enumerate(names)}
            positions = np.array([number[text] for text in self.texts], np.int64)
            places = [number[text] for text in other.texts]
        views, visitors = np.zeros((2, len(names)), np.int64)
        for groups, own, factor in ((self, positions, 1), (other, places, sign)):
            views[own] += factor * groups.views
            visitors[own] += factor * groups.visitors
        return NamedGroups(names, views, visitors)


class GroupsIndex(Struct, frozen=True, eq=False):
    """The groups of all rows of stored rollups, in the order of their texts."""

    texts: Sequence[Texts]
    groups: GroupIndex
    is_complete: bool = True
    """Whether the rows could be told apart; else there is nothing."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.groups.size + sum(len(text) + 60 for texts in self.texts for text in texts)

    def between(self, first: int, end: int) -> NamedGroups:
        """The groups of some quarters; those that have no rows in them count nothing."""
        return NamedGroups(self.texts, *self.groups.between(first, end))


NO_GROUPS = GroupsIndex(
    (), index_groups(*(np.empty(0, np.int64) for _ in range(4))), is_complete=False
)
"""In place of an index that cannot be made."""


def table_of(columns: Sequence[str]) -> str:
    """The table of rollups that has these columns."""
    [name] = {BY_COLUMN[label(column)].name for column in columns}
    return name


def groups_by(
    joined: RollupView,
    columns: Sequence[str],
    *,
    together: bool = False,
    of: str = VISITOR_COLUMN,
) -> NamedGroups:
    """Groups of rows that have the first column; no text of another one is the empty text.

    Those of columns named together have one text, the texts that are there with spaces between.
    The column `of` may be that of sessions, which are counted in place of visitors then.
    """
    grouping = _Grouping(tuple(columns), together, of)
    index = joined.index(grouping.name, grouping.index)
    if index is None:
        return grouping.counted(joined)
    groups = index.between(joined.first, joined.end)
    if not joined.has_unprepared:
        return groups
    flags = joined.unprepared_flags([table_of(columns)], of)
    rows = joined.of_ids(of, flags, with_rest=True)
    # a visitor of the rest may be in the groups already
    return groups.plus(grouping.counted(rows.stored_only()), -1).plus(grouping.counted(rows))


class _Grouping(Struct, frozen=True):
    """By which columns rows are grouped, and the column of what is counted in each group."""

    columns: tuple[str, ...]
    together: bool
    of: str

    @property
    def name(self) -> tuple[str, ...]:
        """The name of its index."""
        kind = "together" if self.together else "by"
        return (kind if self.of == VISITOR_COLUMN else f"{self.of} {kind}", *self.columns)

    def counted(self, joined: RollupView) -> NamedGroups:
        """The groups of all rows."""
        return count_groups(joined, *self._rows(joined), self.of)

    def index(self, whole: RollupView) -> GroupsIndex:
        table = table_of(self.columns)
        numbers, _ = whole.text_numbers(table, label(self.columns[0]))
        quarters = whole.columns(table, QUARTER_COLUMN)[QUARTER_COLUMN][numbers != NO_TEXT]
        return index_of(*self._rows(whole), quarters)

    def _rows(self, joined: RollupView) -> tuple[Sequence[EncodedTexts], Numbers, Numbers]:
        """Columns, page views and what is counted of the rows that have the first column."""
        table = table_of(self.columns)
        rows = joined.columns(table, "views", self.of)
        numbered = [joined.text_numbers(table, label(column)) for column in self.columns]
        kept = numbered[0][0] != NO_TEXT
        of_kept = [(numbers[kept], texts) for numbers, texts in numbered]
        if self.together:
            of_kept = [named_together(of_kept)]
        return of_kept, rows["views"][kept], rows[self.of][kept]


def named_together(columns: Sequence[EncodedTexts]) -> EncodedTexts:
    """The texts of each row that are there, with spaces between; the first one always is."""
    of_columns = [(numbers, len(texts)) for numbers, texts in columns]
    found, groups = number_combinations(of_columns, len(columns[0][0]))
    known: dict[str | None, int] = {None: NO_TEXT}
    own = [
        [texts[i] for i in each.tolist()] for each, (_, texts) in zip(found, columns, strict=True)
    ]
    names = [" ".join(text for text in each if text is not None) for each in zip(*own, strict=True)]
    mapping = [known.setdefault(name, len(known)) for name in names]
    return np.array(mapping, np.int64)[groups], list(known)


def index_of(
    columns: Sequence[EncodedTexts], views: Numbers, visitors: Numbers, quarters: Numbers
) -> GroupsIndex:
    """The index of rows by columns of texts."""
    texts, groups = number_groups(columns)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    position = np.empty(len(texts), np.int64)
    position[order] = np.arange(len(texts))
    index = index_groups(position[groups], visitors, quarters, views)
    return GroupsIndex([texts[i] for i in order], index)


def count_groups(
    joined: RollupView,
    columns: Sequence[EncodedTexts],
    views: Numbers,
    visitors: Numbers,
    of: str = VISITOR_COLUMN,
) -> NamedGroups:
    """Groups of rows by columns of texts; `visitors` may be sessions, of the column `of`."""
    texts, groups = number_groups(columns)
    count = len(texts)
    distinct = joined.distinct(groups, visitors, count, of)
    return NamedGroups(texts, sums(groups, views, count), distinct)


def number_groups(columns: Sequence[EncodedTexts]) -> tuple[Sequence[Texts], Numbers]:
    """The texts of each group, NULL as the empty text, and for each row the number of its group."""
    with_empty = [_with_empty(*each) for each in columns]
    of_columns = [(numbers, len(texts)) for numbers, texts in with_empty]
    found, groups = number_combinations(of_columns, len(columns[0][0]))
    named = [
        [texts[i] for i in own.tolist()] for own, (_, texts) in zip(found, with_empty, strict=True)
    ]
    return list(zip(*named, strict=True)), groups


class ShareRows(LazyRows):
    """The rows of `shares`."""

    def __init__(self, groups: NamedGroups, order: Numbers) -> None:
        """`order` has the positions of the groups; of others nothing is kept."""
        self._views, self._visitors = (
            smallest(each[order]) for each in (groups.views, groups.visitors)
        )
        is_small = 2 * len(order) < len(groups.texts)
        self._texts = [groups.texts[i] for i in order.tolist()] if is_small else groups.texts
        self._places = smallest(np.arange(len(order)) if is_small else order)
        self._whole = int(self._visitors.sum())

    def __len__(self) -> int:
        return len(self._places)

    def rows(self, at: Numbers) -> Sequence[Row]:
        """The rows at some positions."""
        columns = (each[at].tolist() for each in (self._places, self._views, self._visitors))
        rows = zip(*columns, strict=True)
        return [(*self._texts[i], views, own, own, self._whole) for i, views, own in rows]


def shares(groups: NamedGroups) -> Sequence[Row]:
    """A row for each group that has page views: texts, page views, visitors, share of visitors.

    The share is a group's visitors and those of all groups. Most visitors come first, then most
    page views, then by their texts.
    """
    having = np.flatnonzero(groups.views)
    views, visitors = groups.views[having], groups.visitors[having]
    order = np.lexsort((text_ranks(groups.texts)[having], -views, -visitors))
    return ShareRows(groups, having[order])


def text_ranks(names: Sequence[Texts]) -> Numbers:
    """The place of each group in the order of their texts."""
    if names == (ordered := sorted(names)):
        return np.arange(len(names))
    number = {name: i for i, name in enumerate(ordered)}
    return np.array([number[name] for name in names], np.int64)


def _with_empty(numbers: Numbers, texts: Sequence[str | None]) -> tuple[Numbers, Sequence[str]]:
    """NULL and the empty text as one."""
    own = ["", *(text for text in texts[1:] if text is not None)]
    if "" not in own[1:]:
        return numbers, own
    return np.where(numbers == own.index("", 1), NO_TEXT, numbers), own
