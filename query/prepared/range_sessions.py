"""Sessions of a range: those with a page view in it, each as its rows in the range make it."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN, smallest
from query.prepared.part_tables import SESSIONS
from query.prepared.sessions import OF_SESSIONS, Sessions, join_sessions
from query.prepared.totals_index import TOTALS_INDEX, TotalsIndex, index_totals


class ChangedSessions(Struct, frozen=True, eq=False):
    """What of the sessions of an index is another in a range."""

    low: int
    high: int
    """The sessions of the index with their first page view in the range, by their positions."""
    without: Numbers
    """The positions of those that the range cuts or that have rows in the rest, in order."""
    anew: Sessions
    """Those, and further ones of the rest, from their rows in the range."""
    rows: Sequence[JoinedParts] = ()
    """The rows that these are made of."""


def session_columns(joined: JoinedParts, *names: str) -> Sequence[Numbers]:
    """Columns of the sessions with a page view in the range."""
    index = joined.index(TOTALS_INDEX, index_totals)
    if index is None:
        sessions = sessions_of_rows(joined)
        return [getattr(sessions, name) for name in names]
    changed = changed_sessions(joined, index)
    of_index = index.sessions_at(slice(changed.low, changed.high), names)
    without = changed.without - changed.low
    return [
        np.concatenate([np.delete(own, without), smallest(getattr(changed.anew, name))])
        for name, own in zip(names, of_index, strict=True)
    ]


def sessions_of_rows(joined: JoinedParts) -> Sessions:
    """The same from all rows, where there is no index."""
    return _sessions(joined.columns(SESSIONS.name, *OF_SESSIONS))


def changed_sessions(joined: JoinedParts, index: TotalsIndex) -> ChangedSessions:
    """What is not as the index has it."""
    low, high = index.viewed_first(joined.first, joined.end)
    at_start, at_end = index.crossing(joined.first), index.crossing(joined.end)
    cut = np.union1d(at_start, at_end)
    if not joined.has_rest and not len(cut):
        return ChangedSessions(low, high, cut, _sessions())
    flags = joined.rest_flags([SESSIONS.name], SESSION_COLUMN)
    if joined.has_rest:
        cut = np.union1d(cut, np.flatnonzero(flags[index.sessions.keys]))
    keys, starts, ends = index.sessions_at(cut, ("keys", "start_quarters", "end_quarters"))
    rows = rows_of_sessions(joined, flags, keys, starts, ends)
    without = cut[slice(*np.searchsorted(cut, (low, high)))]
    anew = _sessions(*(each.columns(SESSIONS.name, *OF_SESSIONS) for each in rows))
    return ChangedSessions(low, high, without, anew, rows)


def rows_of_sessions(
    joined: JoinedParts, flags: Numbers, keys: Numbers, starts: Numbers, ends: Numbers
) -> Sequence[JoinedParts]:
    """The rows of these sessions, whose first and last quarters are known, and of flagged ones.

    `flags` is by number of the session. With all rows of the rest.
    """
    known = np.zeros(joined.stored_count(SESSION_COLUMN), np.bool_)
    known[keys] = True
    is_all_known = not (flags[: len(known)] & ~known).any()
    windows = _windows(joined, starts, ends) if is_all_known else [joined]
    flags = flags.copy()
    flags[keys] = True
    rows = [each.of_flagged(SESSION_COLUMN, flags, with_rest=False) for each in windows]
    return [*rows, joined.of_rest()] if joined.has_rest else rows


def _windows(joined: JoinedParts, starts: Numbers, ends: Numbers) -> list[JoinedParts]:
    """All rows of these sessions, and as few others as may be: most are near an edge."""
    first, end = joined.first, joined.end
    inside = (ends >= first) & (starts < end)
    starts, ends = starts[inside].astype(np.int64), ends[inside].astype(np.int64)
    is_first = ends - first < end - starts
    high = int(ends[is_first].max(initial=first - 1)) + 1
    low = int(starts[~is_first].min(initial=end))
    if low < high:
        return [joined]
    return [joined.between(first, high), joined.between(low, end)]


def _sessions(*rows: Mapping[str, Numbers]) -> Sessions:
    """The sessions of rows."""
    nothing = dict.fromkeys(OF_SESSIONS, np.zeros(0, np.int64))
    columns = {
        name: np.concatenate([each[name] for each in rows or (nothing,)]) for name in OF_SESSIONS
    }
    keys, numbers = np.unique(columns[SESSION_COLUMN], return_inverse=True)
    sessions = join_sessions({**columns, SESSION_COLUMN: numbers}, len(keys))
    return structs.replace(sessions, keys=keys[sessions.keys])
