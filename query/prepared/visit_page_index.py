"""Index of the first or the last page view of each session: its page, and its visitor."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.breakdown import NO_GROUPS, GroupsIndex, NamedGroups, Texts, index_of
from query.prepared.crossing_sessions import block_edges, crossing
from query.prepared.group_numbers import greatest, least
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.part_tables import OF_LAST_VIEW, QUARTER_MS, SESSIONS
from query.prepared.part_texts import NumberedTexts
from query.prepared.range_sessions import rows_of_sessions
from query.prepared.session_values import fact_values
from query.prepared.visit_index import first_of_each, sessions_of_rest

EDGE_COLUMNS = (
    "views",
    "session_key",
    "visitor",
    "quarter",
    "start_ms",
    "span_ms",
    "before_views_ms",
    "after_views_ms",
)


class VisitPageIndex(Struct, frozen=True, eq=False):
    """Sessions that have a page, in the order of the quarters of their page views."""

    groups: GroupsIndex
    """By page."""
    blocks: Numbers
    """The first and the last quarter of each block of sessions."""
    keys: Numbers
    pages: Numbers
    """The number of its group."""
    visitors: Numbers
    quarters: Numbers
    """Of the page view."""
    starts: Numbers
    ends: Numbers
    """Quarters of the first and of the last row."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        columns = (self.keys, self.pages, self.visitors, self.quarters, self.starts, self.ends)
        return self.groups.size + sum(each.nbytes for each in (*columns, self.blocks))

    def between(self, joined: JoinedParts, fact: str) -> NamedGroups | None:
        """Sessions and visitors by page; None when two visitors have a page view at one time.

        What a session that the range cuts does within it is read from its rows, and what one does
        that has rows without a stored part.
        """
        groups = self.groups.between(joined.first, joined.end)
        at_start, at_end = (self._crossing(each) for each in (joined.first, joined.end))
        cut = np.union1d(at_start, at_end)
        if (flags := sessions_of_rest(joined)) is not None:
            cut = np.union1d(cut, np.flatnonzero(flags[self.keys]))
        elif not len(cut):
            return groups
        if (anew := self._anew(joined, cut, flags, fact)) is None:
            return None
        of_them = self._of_visitors(joined, anew.visitors, self.visitors[cut])
        quarters = self.quarters[of_them]
        of_them = of_them[(quarters >= joined.first) & (quarters < joined.end)]
        before = self._pages(of_them, self.visitors[of_them])
        groups = groups.plus(before.counted(joined), -1)
        of_them = np.setdiff1d(of_them, cut, assume_unique=True)
        after = self._pages(of_them, self.visitors[of_them]).plus(anew)
        return groups.plus(after.counted(joined))

    def _crossing(self, quarter: int) -> Numbers:
        """The positions of the sessions that have rows before and after this quarter begins."""
        return crossing(self.starts, self.ends, self.blocks, quarter)

    def _of_visitors(self, joined: JoinedParts, *visitors: Numbers) -> Numbers:
        """The positions of all sessions of some visitors."""
        flags = np.zeros(joined.count(VISITOR_COLUMN), np.bool_)
        for each in visitors:
            flags[each] = True
        return np.flatnonzero(flags[self.visitors])

    def _anew(
        self, joined: JoinedParts, cut: Numbers, of_rest: Numbers | None, fact: str
    ) -> "SessionPages | None":
        """Those of sessions that are cut, and of the rest, from their rows in the range."""
        count = joined.count(SESSION_COLUMN)
        flags = np.zeros(count, np.bool_) if of_rest is None else of_rest
        own = (each[cut] for each in (self.keys, self.starts, self.ends))
        rows = [
            each.columns(SESSIONS.name, *EDGE_COLUMNS)
            for each in rows_of_sessions(joined, flags, *own)
        ]
        columns = {name: np.concatenate([each[name] for each in rows]) for name in EDGE_COLUMNS}
        keys, numbers = np.unique(columns[SESSION_COLUMN], return_inverse=True)
        is_last = fact in OF_LAST_VIEW
        chosen = edge_rows({**columns, SESSION_COLUMN: numbers}, len(keys), is_last=is_last)
        if chosen is None:
            return None
        sessions, visitors = columns[SESSION_COLUMN][chosen], columns[VISITOR_COLUMN][chosen]
        if of_rest is None:
            order = np.argsort(self.keys[cut])
            at = order[np.searchsorted(self.keys[cut], sessions, sorter=order)]
            return self._pages(cut[at], visitors)
        if (values := fact_values(joined, fact)) is None:
            return None
        pages = values.numbers[sessions]
        having = pages != NO_TEXT
        texts = [(text or "",) for text in values.texts]
        return SessionPages(texts, pages[having], visitors[having])

    def _pages(self, at: Numbers, visitors: Numbers) -> "SessionPages":
        """Those of the sessions at some positions."""
        return SessionPages(self.groups.texts, self.pages[at], visitors)


class SessionPages(Struct, frozen=True, eq=False):
    """The page of each session, by the number of its texts, and the visitor of its page view."""

    texts: Sequence[Texts]
    pages: Numbers
    visitors: Numbers

    def plus(self, other: "SessionPages") -> "SessionPages":
        """Those of other sessions too."""
        number = {text: i for i, text in enumerate(self.texts)}
        found, pages = np.unique(other.pages, return_inverse=True)
        mapping = [number.setdefault(other.texts[i], len(number)) for i in found.tolist()]
        mapped = np.array(mapping, np.int64)[pages]
        return SessionPages(
            list(number),
            np.concatenate([self.pages, mapped]),
            np.concatenate([self.visitors, other.visitors]),
        )

    def counted(self, joined: JoinedParts) -> NamedGroups:
        """Sessions and visitors by page."""
        found, groups = np.unique(self.pages, return_inverse=True)
        texts = [self.texts[i] for i in found.tolist()]
        sessions = np.bincount(groups, minlength=len(found))
        return NamedGroups(texts, sessions, joined.distinct(groups, self.visitors, len(found)))


NO_VISIT_PAGES = VisitPageIndex(NO_GROUPS, *(np.empty(0, np.int64) for _ in range(7)))
"""In place of an index that cannot be made."""


def index_visit_pages(
    page: NumberedTexts,
    visitors: Numbers,
    chosen: Numbers,
    rows: Mapping[str, Numbers],
    session_count: int,
) -> VisitPageIndex:
    """The index of the chosen rows of sessions, one of each, with the page of its visit."""
    every, quarters = rows[SESSION_COLUMN], rows[QUARTER_COLUMN]
    keys = every[chosen]
    edges = (least(every, quarters, session_count), greatest(every, quarters, session_count))
    starts, ends = (each[keys] for each in edges)
    groups = index_of([page], np.ones(len(keys), np.uint8), visitors, quarters[chosen])
    number = {text: i for i, (text,) in enumerate(groups.texts)}
    texts = [number.get(text or "", 0) for text in page[1]]
    columns = (keys, np.array(texts, np.int64)[page[0]], visitors, quarters[chosen], starts, ends)
    order = np.argsort(quarters[chosen], kind="stable")
    ordered = [smallest(each[order]) for each in columns]
    return VisitPageIndex(groups, block_edges(*ordered[4:]), *ordered)


def edge_rows(sessions: Mapping[str, Numbers], count: int, *, is_last: bool) -> Numbers | None:
    """The positions of the rows with the first or the last page view of each of `count` sessions.

    None when two visitors of a session have it at the same time.
    """
    viewed = np.flatnonzero(sessions["views"] > 0)
    keys, visitors, quarter, start, span, before, after = (
        sessions[name][viewed] for name in EDGE_COLUMNS[1:]
    )
    start = quarter.astype(np.int64) * QUARTER_MS + start
    times = -(start + span - after) if is_last else start + before
    first = first_of_each(keys, times, visitors, count)
    return None if first is None else viewed[first[first < len(viewed)]]
