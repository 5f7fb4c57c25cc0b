"""Paths of sessions through pages, and the flow from page to page.

The pages of a path are packed into one number, from which they are read again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key
from query.prepared.groups_index import KEY_BITS, sort_order
from query.prepared.page_views import PageChanges, ordered_views, page_changes
from query.prepared.quarter_hours import QuarterHours, RangePlan
from query.prepared.rollup_tables import PAGE_VIEWS
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import WITHOUT

SEPARATOR = " → "


class LabelOrder(Struct, frozen=True, eq=False):
    """The place of each page in the order of labels: as their last one, and before another."""

    last: Numbers
    before: Numbers


def label_order(texts: Sequence[str]) -> LabelOrder | None:
    """The order, of distinct texts; None when the first page of a label cannot be told from it.

    Labels differ first where one of their pages does. The texts there, each with the separator
    unless it is the last one, are in the order of the labels, as long as no text with a separator
    begins with another one.
    """
    separated = sorted(text + SEPARATOR for text in texts)
    if any(b.startswith(a) for a, b in pairwise(separated)):
        return None
    both = sorted([*((text, 0) for text in texts), *((text + SEPARATOR, 1) for text in texts)])
    place = {token: i for i, token in enumerate(both)}
    return LabelOrder(
        np.array([place[text, 0] for text in texts], np.int64),
        np.array([place[text + SEPARATOR, 1] for text in texts], np.int64),
    )


class PackedKeys(Struct, frozen=True, eq=False):
    """The key of each row: the values of columns, the last one in the lowest bits."""

    keys: Numbers
    bits: int
    """Of the greatest key, at most."""
    widths: Sequence[int] = ()
    """Bits of each column."""
    replaced: "PackedKeys | None" = None
    """The distinct keys of columns before these, whose position is in the bits above."""

    def plus(self, column: Numbers) -> "PackedKeys":
        """With a further column of numbers from 0 to below 2**32, of fewer than 2**31 rows."""
        width = int(column.max(initial=0)).bit_length()
        own = self.within(KEY_BITS - width)
        keys = own.keys << width | column
        return PackedKeys(keys, own.bits + width, [*own.widths, width], own.replaced)

    def within(self, bits: int) -> "PackedKeys":
        """Keys of no more bits; so many that rows can be told apart always suffice."""
        if self.bits <= bits:
            return self
        found, numbers = number_distinct(self.keys)
        distinct = PackedKeys(found, self.bits, self.widths, self.replaced)
        return PackedKeys(numbers, len(found).bit_length(), (), distinct)

    def columns(self, keys: Numbers) -> list[Numbers]:
        """The values of each column, from some keys."""
        own: list[Numbers] = []
        for width in reversed(self.widths):
            own.insert(0, (keys & ((1 << width) - 1)).astype(np.uint32))
            keys = keys >> width
        if self.replaced is None:
            return own
        return [*self.replaced.columns(self.replaced.keys[keys]), *own]


def pack_columns(columns: Iterable[Numbers], row_count: int) -> PackedKeys:
    """The keys of rows."""
    packed = PackedKeys(np.zeros(row_count, np.int64), 0)
    for column in columns:
        packed = packed.plus(column)
    return packed


def number_distinct(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct keys, and for each row the position of its own: by a table of hashes.

    It takes a third of the time of sorting keys that do not have room for their positions.
    """
    import pyarrow as pa

    encoded = pa.array(keys).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(np.int64)


class PagePaths(RangePlan, frozen=True):
    """A row for each path, most sessions first."""

    first_page: str | None
    last_page: str | None
    max_steps: int
    tables: ClassVar[Sequence[str]] = (PAGE_VIEWS.name,)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
        if (views := ordered_views(joined)) is None:
            return None
        if (labels := label_order(views.texts)) is None:
            return None
        changes = page_changes(views)
        first, last = (_number(views.texts, page) for page in (self.first_page, self.last_page))
        at, lengths = chosen_steps(changes, first, last, self.max_steps)
        paths = count_paths(changes, at, lengths, self.max_steps)
        return _rows(paths, labels, views.texts)


class CountedPaths(Struct, frozen=True, eq=False):
    """Distinct paths."""

    steps: Numbers
    """By step and path: one more than the number of the page, 0 beyond the end."""
    lengths: Numbers
    sessions: Numbers
    visitors: Numbers

    def label_key(self, labels: LabelOrder, step: int) -> Key:
        """The place of a step of each path in the order of labels."""

        def places(at: Numbers) -> Numbers:
            pages = self.steps[step][at].astype(np.int64) - 1
            is_last = self.lengths[at] == step + 1
            found = np.where(is_last, labels.last[pages], labels.before[pages])
            return np.where(pages < 0, -1, found)

        return places

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(each.nbytes for each in (self.steps, self.lengths, self.sessions, self.visitors))


ABSENT_PAGE = -1
"""In place of the number of a page that is asked for and has no views."""


def _number(texts: Sequence[str], page: str | None) -> int | None:
    if page is None:
        return None
    at = bisect_left(texts, page)
    return at if at < len(texts) and texts[at] == page else ABSENT_PAGE


def chosen_steps(
    changes: PageChanges, first: int | None, last: int | None, most: int
) -> tuple[Numbers, Numbers]:
    """The positions at which the paths of sessions begin, and their numbers of steps."""
    begins, ends = changes.starts, changes.borders[1:]
    if first is not None:
        begins = _first_of_sessions(changes, np.flatnonzero(changes.pages == first))
        ends = changes.ends_of(begins)
    if last is None:
        return begins, np.minimum(ends - begins, most)
    reached = np.flatnonzero(changes.pages == last)
    if first is None:
        reached = _first_of_sessions(changes, reached)
        starts = changes.starts[np.searchsorted(changes.starts, reached, side="right") - 1]
        begins = np.maximum(starts, reached - (most - 1))
        return begins, reached - begins + 1
    next_one = np.searchsorted(reached, begins)
    found = next_one < len(reached)
    begins, ends, reached = begins[found], ends[found], reached[next_one[found]]
    lengths = reached - begins + 1
    kept = (reached < ends) & (lengths <= most)
    return begins[kept], lengths[kept]


def _first_of_sessions(changes: PageChanges, positions: Numbers) -> Numbers:
    """The first one of these positions in each session."""
    _, first = np.unique(changes.sessions[positions], return_index=True)
    return np.sort(positions[first])


def count_paths(changes: PageChanges, at: Numbers, lengths: Numbers, most: int) -> CountedPaths:
    """The distinct paths that begin there, with their sessions and visitors."""
    numbers = changes.pages.astype(np.uint32) + np.uint32(1)
    steps = (_step(numbers, at + step, lengths > step) for step in range(most))
    visitors = changes.visitors[at]
    visitor_bits = int(visitors.max(initial=0)).bit_length()
    packed = pack_columns(steps, len(at)).within(KEY_BITS - visitor_bits)
    pairs = packed.keys << visitor_bits | visitors
    pairs.sort()
    paths = pairs >> visitor_bits
    begins = np.flatnonzero(_differs_from_before(paths))
    found = paths[begins]
    has_visitor = pairs & ((1 << visitor_bits) - 1) != WITHOUT
    of_visitors = _sums(_differs_from_before(pairs) & has_visitor, begins)
    of_sessions = np.diff(begins, append=len(pairs))
    del pairs, paths, has_visitor  # of each session, while the steps of each path are made
    own_steps = np.array(packed.columns(found), np.uint32).reshape(most, len(found))
    return CountedPaths(own_steps, np.count_nonzero(own_steps, axis=0), of_sessions, of_visitors)


def _differs_from_before(values: Numbers) -> Numbers:
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


def _sums(flags: Numbers, begins: Numbers) -> Numbers:
    """The number of flags from each beginning on to the next one."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.diff(before[np.append(begins, len(flags))])


def _step(numbers: Numbers, at: Numbers, is_within: Numbers) -> Numbers:
    """The number of the page at each position, 0 beyond the end of a path."""
    if not len(at):
        return np.zeros(0, np.uint32)
    return numbers.take(at, mode="clip") * is_within


def _rows(paths: CountedPaths, labels: LabelOrder, texts: Sequence[str]) -> ArrayRows:
    """The rows: label, steps, sessions, visitors, share of the sessions, no group."""
    count, whole = len(paths.sessions), int(paths.sessions.sum())
    by_label = [paths.label_key(labels, step) for step in range(len(paths.steps))]

    def make(at: Numbers) -> Sequence[Row]:
        steps = paths.steps[:, at].T.tolist()
        names = [SEPARATOR.join([texts[page - 1] for page in each if page]) for each in steps]
        columns = (each[at].tolist() for each in (paths.lengths, paths.sessions, paths.visitors))
        return [
            (name, length, sessions, visitors, sessions, whole, None, 0)
            for name, length, sessions, visitors in zip(names, *columns, strict=True)
        ]

    def by_sessions(at: Numbers) -> Numbers:
        return -paths.sessions[at]

    def by_share(at: Numbers) -> Numbers:
        # hundredths, rounded as the values sent are
        return (paths.sessions[at] * 20_000 + whole) // max(1, 2 * whole)

    by_field: Mapping[str, Sequence[Key]] = {
        "steps": (paths.lengths.__getitem__,),
        "sessions": (paths.sessions.__getitem__,),
        "visitors": (paths.visitors.__getitem__,),
        "percentage": (by_share,),
        "name": by_label,
    }
    size = paths.size + sum(len(text) + 60 for text in texts)
    return ArrayRows(count, [by_sessions, *by_label], make, by_field, size)


class PageFlow(RangePlan, frozen=True):
    """A row for each page and the next one, most transitions first."""

    tables: ClassVar[Sequence[str]] = (PAGE_VIEWS.name,)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
        if (views := ordered_views(joined)) is None:
            return None
        texts = views.texts
        if (labels := label_order(texts)) is None:
            return None
        sources, targets, transitions, sessions = count_transitions(page_changes(views), len(texts))

        def make(at: Numbers) -> Sequence[Row]:
            columns = (each[at].tolist() for each in (sources, targets, transitions, sessions))
            return [
                (texts[a], texts[b], f"{texts[a]}{SEPARATOR}{texts[b]}", count, own)
                for a, b, count, own in zip(*columns, strict=True)
            ]

        def by_transitions(at: Numbers) -> Numbers:
            return -transitions[at]

        # a label is sorted by its first page, then by its second one
        by_label = labels.before[sources].astype(np.int64) * (2 * len(texts) + 1)
        by_label += labels.last[targets]
        by_field = {
            "from_path": (sources.__getitem__,),
            "to_path": (targets.__getitem__,),
            "name": (by_label.__getitem__,),
            "transitions": (transitions.__getitem__,),
            "sessions": (sessions.__getitem__,),
        }
        arrays = (sources, targets, transitions, sessions, by_label)
        size = sum(each.nbytes for each in arrays) + sum(len(text) + 60 for text in texts)
        keys = (by_transitions, sources.__getitem__, targets.__getitem__)
        return ArrayRows(len(sources), keys, make, by_field, size)


def count_transitions(
    changes: PageChanges, page_count: int
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Pages, next pages, how often that is so, and in how many sessions."""
    is_last = np.zeros(len(changes.pages), np.bool_)
    is_last[changes.borders[1:] - 1] = True
    has_next = np.flatnonzero(~is_last)
    pairs = changes.pages[has_next].astype(np.int64) * page_count + changes.pages[has_next + 1]
    order = sort_order(pairs)  # sessions stay in order within each pair
    pairs, sessions = pairs[order], changes.sessions[has_next][order]
    begins = np.ones(len(pairs), np.bool_)
    begins[1:] = pairs[1:] != pairs[:-1]
    other = begins.copy()
    other[1:] |= sessions[1:] != sessions[:-1]
    starts = np.flatnonzero(begins)
    transitions = np.diff(np.append(starts, len(pairs)))
    counts = np.add.reduceat(other, starts, dtype=np.int64) if len(starts) else transitions
    found = pairs[starts]
    return found // max(1, page_count), found % max(1, page_count), transitions, counts
