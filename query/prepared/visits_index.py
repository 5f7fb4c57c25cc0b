"""First and last page views of visits, and their facts, in any range of quarter-hours."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.breakdown import NO_GROUPS, GroupsIndex, NamedGroups, Texts, index_of
from query.prepared.groups_index import NEVER, greatest, least
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import OF_LAST_VIEW, QUARTER_MS, SESSIONS, VISITS, label
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import block_edges, crossing
from query.prepared.shared_ids import EncodedTexts, TextCodes, in_text_order, renumbered
from query.prepared.totals_index import rows_of_sessions

VISIT_COLUMNS = (SESSION_COLUMN, "quarter", "start_ms", "span_ms")
QUARTERS_AROUND = 96
"""Visits are looked up in the range and at least so many quarters around it."""


class LongVisits(Struct, frozen=True, eq=False):
    """Visits so long that a range with some of their rows may not have their first page view.

    The facts of all others are the same in any range.
    """

    first_views: Numbers
    last_views: Numbers
    starts: Numbers
    ends: Numbers
    """QuarterHours of page views, and of the first and last rows."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 4 * self.starts.nbytes

    def are_complete(self, first: int, end: int, around: tuple[int, int]) -> bool:
        """Whether the rows of these quarters have the facts of all rows."""
        before, after = around
        is_outside = (self.first_views < before) | (self.last_views >= after)
        return not (is_outside & (self.ends >= first) & (self.starts < end)).any()


def long_visits(whole: RollupView) -> LongVisits:
    """The long visits among all."""
    count = whole.count(SESSION_COLUMN)
    edges = []
    for table in (VISITS.name, SESSIONS.name):
        rows = whole.columns(table, SESSION_COLUMN, QUARTER_COLUMN)
        keys, quarters = rows[SESSION_COLUMN], rows[QUARTER_COLUMN].astype(np.int64)
        edges += [least(keys, quarters, count), greatest(keys, quarters, count)]
    has_view = edges[0] != NEVER
    first_views, last_views, starts, ends = (each[has_view] for each in edges)
    is_long = np.maximum(ends - first_views, last_views - starts) >= QUARTERS_AROUND
    return LongVisits(*(each[is_long] for each in (first_views, last_views, starts, ends)))


def visits_are_complete(joined: RollupView) -> bool:
    """Whether the facts of visits in the range are those that indexes of all rows have.

    Those of `unprepared_sessions` may be others.
    """
    if joined.visits is None:
        return False
    visits = joined.visits.joined
    of_whole = joined.index("long_visits", long_visits)
    around = (visits.first, visits.end)
    # the rows of a quarter that the range cuts are given to the one beside it
    return of_whole is not None and of_whole.are_complete(joined.first - 1, joined.end + 1, around)


def unprepared_sessions(joined: RollupView) -> Numbers | None:
    """By number of the session, whether it or its visit has rows without a stored rollup.

    None when there are no such rows.
    """
    having = [
        joined.has_unprepared,
        joined.visits is not None and joined.visits.joined.has_unprepared,
    ]
    if not any(having):
        return None
    flags = joined.unprepared_flags([SESSIONS.name], SESSION_COLUMN)
    if joined.visits is not None:
        flags |= joined.visits.joined.unprepared_flags([VISITS.name], SESSION_COLUMN)
    return flags


def index_visits(
    rows: Mapping[str, Numbers], count: int, *, is_last: bool = False
) -> Numbers | None:
    """For each of `count` sessions the position of the row with its first or last page view.

    That after the last row when it has none; None when rows of a visit tie for that.
    """
    keys = rows["session_key"]
    times = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["start_ms"]
    if is_last:
        times = -(times + rows["span_ms"])
    return first_of_each(keys, times, np.arange(len(keys)), count)


def first_of_each(keys: Numbers, times: Numbers, values: Numbers, count: int) -> Numbers | None:
    """The position of the least time of each of `count` keys; of one without any, their number.

    None when a key has different values at that time: which of them is first is not known here.
    """
    at = np.flatnonzero(times == least(keys, times, count)[keys])
    first = np.full(count, len(keys))
    first[keys[at]] = at
    return None if (values[at] != values[first[keys[at]]]).any() else first


class VisitText(Struct, frozen=True):
    """The first of some facts that has a value."""

    facts: tuple[str, ...]
    otherwise: str | None = None
    """The text of visits without one."""


class SessionValues(Struct, frozen=True, eq=False):
    """The number of each session's text, and the texts by number; 0 is NULL."""

    numbers: Numbers
    texts: Sequence[str | None]
    """In ascending order after NULL; of sessions with rows without a rollup after all others."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.numbers.nbytes + sum(len(text or "") + 60 for text in self.texts)


AMBIGUOUS_VALUES = SessionValues(np.empty(0, np.int64), ())
"""In place of values that rollups do not have."""


def fact_values(joined: RollupView, fact: str) -> SessionValues | None:
    """The values of a fact; None when they are not determined."""
    return session_values(joined, VisitText((fact,)))


def session_values(joined: RollupView, text: VisitText) -> SessionValues | None:
    """The values of a text; None when they are not determined."""
    if (index := indexed_values(joined, text)) is not None:
        flags = unprepared_sessions(joined)
        return index if flags is None else _with_rest(joined, text, index, flags)
    values = _values(joined, text)
    return values if values.texts else None


def indexed_values(joined: RollupView, text: VisitText) -> SessionValues | None:
    """Those of the sessions of stored rollups; None where no index has them."""
    if not visits_are_complete(joined):
        return None
    index = joined.index(("of_sessions", text), lambda whole: _values(whole, text))
    return index if index is not None and index.texts else None


def first_texts(columns: Sequence[EncodedTexts], otherwise: str | None) -> EncodedTexts:
    """The first text of each row that is there."""
    if len(columns) == 1 and otherwise is None:
        return columns[0]
    known = TextCodes()
    numbers = np.zeros(len(columns[0][0]), np.int64)
    for own, texts in reversed(columns):
        numbers = np.where(own == NO_TEXT, numbers, renumbered(own, texts, known))
    if otherwise is not None:
        numbers[numbers == NO_TEXT] = known.of(otherwise)
    return numbers, known.texts


def _with_rest(
    joined: RollupView, text: VisitText, index: SessionValues, flags: Numbers
) -> SessionValues | None:
    """Those of flagged sessions from the rows of their visits; None when these do not have them."""
    if joined.visits is None:
        return None
    visits = joined.visits.joined.of_ids(SESSION_COLUMN, flags, with_rest=True)
    rows = visits.columns(VISITS.name, *VISIT_COLUMNS)
    keys, sessions = np.unique(rows[SESSION_COLUMN], return_inverse=True)
    columns = []
    for fact in text.facts:
        is_last = fact in OF_LAST_VIEW
        first = index_visits({**rows, SESSION_COLUMN: sessions}, len(keys), is_last=is_last)
        if first is None:
            return None
        of_rows, texts = visits.text_numbers(VISITS.name, label(fact))
        columns.append((of_rows[first], texts))
    numbers, texts = first_texts(columns, text.otherwise)
    known = TextCodes(index.texts, len(texts))
    values = np.zeros(joined.count(SESSION_COLUMN), np.uint32)
    values[: len(index.numbers)] = index.numbers
    values[flags] = known.of(text.otherwise)
    values[keys] = renumbered(numbers, texts, known)
    return SessionValues(values, known.texts)


def _values(joined: RollupView, text: VisitText) -> SessionValues:
    facts = joined.visit_facts(text.facts)
    if facts is None:
        return AMBIGUOUS_VALUES
    of_rows, texts = in_text_order(*first_texts(facts, text.otherwise))
    numbers = np.zeros(joined.count(SESSION_COLUMN), np.int64)
    numbers[joined.columns(SESSIONS.name, SESSION_COLUMN)[SESSION_COLUMN]] = of_rows
    return SessionValues(smallest(numbers), texts)


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
    """QuarterHours of the first and of the last row."""

    @property
    def size(self) -> int:
        """Bytes in memory."""
        columns = (self.keys, self.pages, self.visitors, self.quarters, self.starts, self.ends)
        return self.groups.size + sum(each.nbytes for each in (*columns, self.blocks))

    def between(self, joined: RollupView, fact: str) -> NamedGroups | None:
        """Sessions and visitors by page; None when two visitors have a page view at one time.

        What a session that the range cuts does within it is read from its rows, and what one does
        that has rows without a stored rollup.
        """
        groups = self.groups.between(joined.first, joined.end)
        at_start, at_end = (self._crossing(each) for each in (joined.first, joined.end))
        cut = np.union1d(at_start, at_end)
        if (flags := unprepared_sessions(joined)) is not None:
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

    def _of_visitors(self, joined: RollupView, *visitors: Numbers) -> Numbers:
        """The positions of all sessions of some visitors."""
        flags = np.zeros(joined.count(VISITOR_COLUMN), np.bool_)
        for each in visitors:
            flags[each] = True
        return np.flatnonzero(flags[self.visitors])

    def _anew(
        self, joined: RollupView, cut: Numbers, unprepared: Numbers | None, fact: str
    ) -> "SessionPages | None":
        """Those of sessions that are cut, and of the rest, from their rows in the range."""
        count = joined.count(SESSION_COLUMN)
        flags = np.zeros(count, np.bool_) if unprepared is None else unprepared
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
        if unprepared is None:
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

    def counted(self, joined: RollupView) -> NamedGroups:
        """Sessions and visitors by page."""
        found, groups = np.unique(self.pages, return_inverse=True)
        texts = [self.texts[i] for i in found.tolist()]
        sessions = np.bincount(groups, minlength=len(found))
        return NamedGroups(texts, sessions, joined.distinct(groups, self.visitors, len(found)))


NO_VISIT_PAGES = VisitPageIndex(NO_GROUPS, *(np.empty(0, np.int64) for _ in range(7)))
"""In place of an index that cannot be made."""


def index_visit_pages(
    page: EncodedTexts,
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
