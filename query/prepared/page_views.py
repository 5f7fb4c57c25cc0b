"""Page views of sessions in their order, and where the page changes."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.groups_index import KEY_BITS
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import PAGE_VIEWS, QUARTER_MS, label
from query.prepared.rollup_view import RollupView

TIE = "tie"
COLUMNS = (QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, "start_ms", TIE)


class OrderedViews(Struct, frozen=True, eq=False):
    """Page views, session after session, each in the order of its rows."""

    sessions: Numbers
    visitors: Numbers
    pages: Numbers
    """Positions in `texts`."""
    texts: Sequence[str]
    """In ascending order."""


class PageViewIndex(Struct, frozen=True, eq=False):
    """The page views of all rows; quarters are numbers from that of the first row."""

    first: int
    quarters: Numbers
    views: OrderedViews
    is_complete: bool
    """Whether the order is known: not when rollups have views of a session in one millisecond."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        views = self.views
        arrays = (self.quarters, views.sessions, views.visitors, views.pages)
        return sum(each.nbytes for each in arrays) + sum(len(text) + 60 for text in views.texts)

    def between(self, first: int, end: int, without: Numbers | None = None) -> OrderedViews:
        """Those of some quarters, but for sessions that are flagged."""
        low, high = (max(0, each - self.first) for each in (first, end))
        kept = (self.quarters >= low) & (self.quarters < high)
        if without is not None:
            kept &= ~without[self.views.sessions]
        return self.views if kept.all() else of_rows(self.views, kept)


def of_rows(views: OrderedViews, kept: Numbers) -> OrderedViews:
    """Some of the page views; texts stay."""
    sessions, visitors, pages = (
        each[kept] for each in (views.sessions, views.visitors, views.pages)
    )
    return OrderedViews(sessions, visitors, pages, views.texts)


def ordered_views(joined: RollupView) -> OrderedViews | None:
    """The page views of the quarters that are asked for; None when their order cannot be told."""
    index = joined.index("page_views", index_page_views)
    if index is None:
        index = index_page_views(joined)
        return index.views if index.is_complete else None
    if not index.is_complete:
        return None
    if not joined.has_unprepared:
        return index.between(joined.first, joined.end)
    flags = joined.unprepared_flags([PAGE_VIEWS.name], SESSION_COLUMN)
    further = index_page_views(joined.of_ids(SESSION_COLUMN, flags, with_rest=True))
    if not further.is_complete:
        return None
    return plus(index.between(joined.first, joined.end, without=flags), further.views)


def plus(one: OrderedViews, other: OrderedViews) -> OrderedViews:
    """The page views of other sessions too."""
    texts = sorted({*one.texts, *other.texts})
    number = {text: i for i, text in enumerate(texts)}
    pages = (
        np.array([number[text] for text in views.texts], np.int64)[views.pages]
        for views in (one, other)
    )
    return OrderedViews(
        np.concatenate([one.sessions, other.sessions]),
        np.concatenate([one.visitors, other.visitors]),
        np.concatenate([*pages]),
        texts,
    )


def index_page_views(joined: RollupView) -> PageViewIndex:
    """The index of all page views."""
    rows = joined.columns(PAGE_VIEWS.name, *COLUMNS)
    numbers, texts = joined.text_numbers(PAGE_VIEWS.name, label("path"))
    first = int(rows[QUARTER_COLUMN].min()) if len(numbers) else 0
    quarters = rows[QUARTER_COLUMN].astype(np.int64) - first
    ms = quarters * QUARTER_MS + rows["start_ms"]
    ms -= ms.min(initial=0)  # rows of a cut quarter begin before the one that they are given to
    ties = rows[TIE]
    order = _order(rows[SESSION_COLUMN], ms, ties)
    pages, page_texts = _in_text_order(numbers, texts)
    views = OrderedViews(
        rows[SESSION_COLUMN][order].astype(np.uint32),
        rows[VISITOR_COLUMN][order].astype(np.uint32),
        smallest(pages[order]),
        page_texts,
    )
    is_complete = _is_told(views, ms[order], ties[order])
    return PageViewIndex(first, smallest(quarters[order]), views, is_complete)


def _order(sessions: Numbers, ms: Numbers, ties: Numbers) -> Numbers:
    """By session, time and tie, none of them below 0."""
    bits = [int(each.max(initial=0)).bit_length() for each in (sessions, ms, ties)]
    if sum(bits) > KEY_BITS:
        return np.lexsort((ties, ms, sessions))
    keys = sessions.astype(np.int64) << bits[1] + bits[2]
    keys |= ms << bits[2]
    keys |= ties
    return np.argsort(keys)  # rows with the same key are the same, or the order is not told


def _in_text_order(numbers: Numbers, texts: Sequence[str | None]) -> tuple[Numbers, Sequence[str]]:
    """Positions of the texts of rows in ascending order; the number 0 is of no row."""
    named = [text or "" for text in texts[1:]]
    order = sorted(range(len(named)), key=named.__getitem__)
    position = np.zeros(len(texts), np.int64)
    position[np.array(order, np.int64) + 1] = np.arange(len(order))
    return position[numbers], [named[i] for i in order]


def _is_told(views: OrderedViews, ms: Numbers, ties: Numbers) -> bool:
    """Whether no two rollups have different page views of one session in one millisecond."""
    same = (views.sessions[1:] == views.sessions[:-1]) & (ms[1:] == ms[:-1])
    twice = np.flatnonzero(same & (ties[1:] == ties[:-1]))
    if not len(twice):
        return True
    differs = (views.pages[1:] != views.pages[:-1]) | (views.visitors[1:] != views.visitors[:-1])
    group = np.concatenate([[0], np.cumsum(~same)])
    return not np.isin(group[1:][same & differs], group[twice]).any()


class PageChanges(Struct, frozen=True, eq=False):
    """Session after session, each in order; the first page view of a session is one of them."""

    sessions: Numbers
    visitors: Numbers
    pages: Numbers
    borders: Numbers
    """Where the changes of each session begin, and the number of all."""

    @property
    def starts(self) -> Numbers:
        """Where the changes of each session begin."""
        return self.borders[:-1]

    def ends_of(self, at: Numbers) -> Numbers:
        """Where the changes of the sessions of some changes end."""
        return self.borders[np.searchsorted(self.borders, at, side="right")]


def page_changes(views: OrderedViews) -> PageChanges:
    """The changes of page; consecutive views of one page are one."""
    begins = _differs(views.sessions)
    kept = np.flatnonzero(begins | _differs(views.pages))
    borders = np.append(np.flatnonzero(begins[kept]), len(kept))
    return PageChanges(views.sessions[kept], views.visitors[kept], views.pages[kept], borders)


def _differs(values: Numbers) -> Numbers:
    """Whether each value is another one than the value before it."""
    differs = np.ones(len(values), np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs
