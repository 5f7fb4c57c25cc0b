"""Breakdown from parts: page views and distinct visitors by one or two columns of the row."""

from collections.abc import Sequence
from math import prod

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.part_tables import BY_COLUMN, label

MAX_KEYS = 2**23
"""Possible keys up to which they are counted by position; beyond it they are sorted."""


class BreakdownGroup(Struct, frozen=True):
    """One group: its texts, page views and visitors."""

    texts: Sequence[str]
    page_views: int
    visitors: int


def table_of(columns: Sequence[str]) -> str:
    """The table of parts that has these columns."""
    [name] = {BY_COLUMN[label(column)].name for column in columns}
    return name


def groups_by(joined: JoinedParts, columns: Sequence[str]) -> Sequence[BreakdownGroup]:
    """Groups of rows that have the first column; no text of another one is the empty text.

    Most visitors first, then most page views, then by their texts.
    """
    table = table_of(columns)
    rows = joined.columns(table, "views", "visitor")
    numbered = [joined.text_numbers(table, label(column)) for column in columns]
    kept = numbered[0][0] != NO_TEXT
    of_kept = [(numbers[kept], texts) for numbers, texts in numbered]
    return groups_of(joined, of_kept, rows["views"][kept], rows["visitor"][kept])


def groups_of(
    joined: JoinedParts,
    columns: Sequence[NumberedTexts],
    views: Numbers,
    visitors: Numbers,
) -> Sequence[BreakdownGroup]:
    """Groups of rows by columns of texts, in the order of `groups_by`."""
    texts, groups = number_groups(columns)
    count = len(texts)
    of_groups = sums(groups, views, count).tolist()
    distinct = joined.distinct(groups, visitors, count).tolist()
    made = [BreakdownGroup(*each) for each in zip(texts, of_groups, distinct, strict=True)]
    return sorted(made, key=lambda group: (-group.visitors, -group.page_views, group.texts))


def number_groups(columns: Sequence[NumberedTexts]) -> tuple[Sequence[Sequence[str]], Numbers]:
    """The texts of each group, NULL as the empty text, and for each row the number of its group."""
    columns_with_empty = [_with_empty(*each) for each in columns]
    texts_by_column = [texts for _, texts in columns_with_empty]
    keys, groups = _numbered(_keys(columns_with_empty), prod(map(len, texts_by_column)))
    return _texts(keys, texts_by_column), groups


def shares(groups: Sequence[BreakdownGroup]) -> Sequence[Row]:
    """A row for each group: texts, page views, visitors, and its share of all groups' visitors."""
    whole = sum(group.visitors for group in groups)
    return [(*g.texts, g.page_views, g.visitors, g.visitors, whole) for g in groups]


def _with_empty(numbers: Numbers, texts: Sequence[str | None]) -> tuple[Numbers, Sequence[str]]:
    """NULL and the empty text as one."""
    if "" not in texts:
        return numbers, ["", *(text or "" for text in texts[1:])]
    empty = texts.index("")
    return np.where(numbers == empty, NO_TEXT, numbers), [text or "" for text in texts]


def _keys(columns: Sequence[tuple[Numbers, Sequence[str]]]) -> Numbers:
    """One number for the texts of a row."""
    keys = np.zeros(len(columns[0][0]), np.int64)
    for numbers, texts in columns:
        keys = keys * len(texts) + numbers
    return keys


def _numbered(keys: Numbers, space: int) -> tuple[Numbers, Numbers]:
    """The keys that occur, in order, and for each row the position of its key in them."""
    if space > MAX_KEYS:
        found, groups = np.unique(keys, return_inverse=True)
        return found, groups
    found = np.flatnonzero(np.bincount(keys, minlength=space))
    positions = np.zeros(space, np.int64)
    positions[found] = np.arange(len(found))
    return found, positions[keys]


def _texts(keys: Numbers, columns: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """The texts of each number."""
    parts: list[list[str]] = []
    for texts in reversed(columns):
        parts.insert(0, [texts[i] for i in (keys % len(texts)).tolist()])
        keys = keys // len(texts)
    return list(zip(*parts, strict=True))
