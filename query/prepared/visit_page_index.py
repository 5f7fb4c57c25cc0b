"""Index of the first or the last page view of each session: its page, and its visitor."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.breakdown import NO_GROUPS, GroupsIndex, NamedGroups, index_of
from query.prepared.crossing_sessions import block_edges, crossing
from query.prepared.group_numbers import greatest, least
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.part_tables import QUARTER_MS, SESSIONS
from query.prepared.visit_index import first_of_each

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
    by_key: Numbers
    by_visitor: Numbers
    """Their positions by key, and by visitor."""
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
        orders = (self.by_key, self.by_visitor, self.blocks)
        return self.groups.size + sum(each.nbytes for each in (*columns, *orders))

    def between(self, joined: JoinedParts, *, is_last: bool) -> NamedGroups | None:
        """Sessions and visitors by page; None when two visitors have a page view at one time.

        What a session that the range cuts does within it is read from its rows.
        """
        groups = self.groups.between(joined.first, joined.end)
        at_start, at_end = (self._crossing(each) for each in (joined.first, joined.end))
        cut = np.union1d(at_start, at_end)
        if not len(cut):
            return groups
        windows = joined.windows(self.ends[at_start], self.starts[at_end])
        anew = self._anew(joined, cut, windows, is_last=is_last)
        if anew is None:
            return None
        at, visitors = anew
        of_them = self._of_visitors(np.concatenate([visitors, self.visitors[cut]]))
        quarters = self.quarters[of_them]
        of_them = of_them[(quarters >= joined.first) & (quarters < joined.end)]
        groups = groups.plus(self._counted(joined, of_them, self.visitors[of_them]), -1)
        of_them = np.setdiff1d(of_them, cut, assume_unique=True)
        both = np.concatenate([self.visitors[of_them], visitors])
        return groups.plus(self._counted(joined, np.concatenate([of_them, at]), both))

    def _crossing(self, quarter: int) -> Numbers:
        """The positions of the sessions that have rows before and after this quarter begins."""
        return crossing(self.starts, self.ends, self.blocks, quarter)

    def _of_visitors(self, visitors: Numbers) -> Numbers:
        """The positions of all sessions of some visitors."""
        wanted = np.unique(visitors)
        known = wanted <= np.iinfo(self.visitors.dtype).max  # others have no session here
        wanted = wanted[known].astype(self.visitors.dtype)
        low, high = (
            np.searchsorted(self.visitors, wanted, side, self.by_visitor).tolist()
            for side in ("left", "right")
        )
        ranges = [np.arange(*ends) for ends in zip(low, high, strict=True)]
        at: Numbers = self.by_visitor[np.concatenate([np.empty(0, np.intp), *ranges])]
        return at.astype(np.intp)

    def _anew(
        self, joined: JoinedParts, cut: Numbers, windows: list[JoinedParts], *, is_last: bool
    ) -> tuple[Numbers, Numbers] | None:
        """The positions of sessions with a page view in the range, and its visitor."""
        flags = np.zeros(joined.count(SESSION_COLUMN), np.bool_)
        flags[self.keys[cut]] = True
        kept = [each.of_flagged(SESSION_COLUMN, flags, with_rest=False) for each in windows]
        rows = [each.columns(SESSIONS.name, *EDGE_COLUMNS) for each in kept]
        columns = {name: np.concatenate([each[name] for each in rows]) for name in EDGE_COLUMNS}
        keys, numbers = np.unique(columns[SESSION_COLUMN], return_inverse=True)
        chosen = edge_rows({**columns, SESSION_COLUMN: numbers}, len(keys), is_last=is_last)
        if chosen is None:
            return None
        wanted = keys[numbers[chosen]].astype(self.keys.dtype)
        at = self.by_key[np.searchsorted(self.keys, wanted, sorter=self.by_key)]
        return at.astype(np.intp), columns[VISITOR_COLUMN][chosen]

    def _counted(self, joined: JoinedParts, at: Numbers, visitors: Numbers) -> NamedGroups:
        """Sessions and visitors of some sessions by page."""
        found, groups = np.unique(self.pages[at], return_inverse=True)
        texts = [self.groups.texts[i] for i in found.tolist()]
        sessions = np.bincount(groups, minlength=len(found))
        return NamedGroups(texts, sessions, joined.distinct(groups, visitors, len(found)))


NO_VISIT_PAGES = VisitPageIndex(NO_GROUPS, *(np.empty(0, np.int64) for _ in range(9)))
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
    by_key, by_visitor = (np.argsort(ordered[i], kind="stable").astype(np.uint32) for i in (0, 2))
    return VisitPageIndex(groups, by_key, by_visitor, block_edges(*ordered[4:]), *ordered)


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
