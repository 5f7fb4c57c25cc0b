"""Filters on places and devices of rows, which are mostly the same in all rows of a session.

Where all rows of each session, and those without one of each quarter and visitor, meet the filters
or none does, parts are read of the sessions that meet them. Otherwise parts do not tell which of
the sums are of rows that do.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.kept_rows import quarter_keys
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import FACTS, label
from query.prepared.session_places import TABLES, SessionPlaces, session_places
from query.prepared.text_filters import rows_kept, rows_that_meet
from query.request.filter_struct import Filter, fields_named, names_behavior


def is_of_places(filter_: Filter) -> bool:
    """Whether a filter names places and devices only."""
    names = map(label, fields_named(filter_))
    return not names_behavior(filter_) and {*names} <= {*FACTS.texts}


def rows_of_places(joined: JoinedParts, filters: Sequence[Filter]) -> JoinedParts | None:
    """The rows that meet the filters, which name places and devices only.

    None when parts cannot tell them.
    """
    chosen = _chosen_by_index(joined, filters) or _chosen_by_rows(joined, filters)
    return None if chosen.in_part else joined.of_sessions(chosen.with_met, chosen.met_keys)


class _Chosen(Struct, frozen=True, eq=False):
    """What filters choose, by number of the session or by key of quarter and visitor."""

    with_met: Numbers
    """Whether a session has a row that meets them."""
    with_others: Numbers
    """Whether it has another one."""
    met_keys: Numbers
    """Keys of rows without a session that meet them."""
    other_keys: Numbers
    """Keys of the others."""

    @property
    def in_part(self) -> bool:
        """Whether some rows of a session or key are chosen, and others are not."""
        of_sessions = (self.with_met & self.with_others).any()
        return bool(of_sessions) or bool(np.isin(self.other_keys, self.met_keys).any())

    def plus(self, other: "_Chosen") -> "_Chosen":
        """What both choose, each of rows of its own."""
        return _Chosen(
            self.with_met | other.with_met,
            self.with_others | other.with_others,
            np.concatenate([self.met_keys, other.met_keys]),
            np.concatenate([self.other_keys, other.other_keys]),
        )


def _chosen_by_index(joined: JoinedParts, filters: Sequence[Filter]) -> _Chosen | None:
    """The sessions of the index, also those without a row in the range; None where rows decide."""
    names = set[str]().union(*map(fields_named, filters))
    indexes = {name: session_places(joined, name) for name in names}
    known = {name: each for name, each in indexes.items() if each is not None}
    if len(known) < len(names):
        return None
    if len(known) > 1 and any(each.has_several for each in known.values()):
        return None  # these have other rows one by one
    met = _met_by_index(joined, known, filters)
    if not joined.has_rest:
        return met
    both = met.plus(_chosen_by_rows(joined.of_rest(), filters))
    return None if both.in_part else both


def _met_by_index(
    joined: JoinedParts, known: Mapping[str, SessionPlaces], filters: Sequence[Filter]
) -> _Chosen:
    """Those of stored parts."""
    first = next(iter(known.values()))
    count = len(first.of_sessions)
    of_sessions = {name: (each.of_sessions, each.texts) for name, each in known.items()}
    with_met, with_others = np.zeros((2, joined.count(SESSION_COLUMN)), np.bool_)
    with_met[:count] = rows_kept(of_sessions, count, filters)
    with_others[:count] = ~with_met[:count]
    with_met[first.sessions] = with_others[first.sessions] = False
    of_rows = {name: (each.of_rows, each.texts) for name, each in known.items()}
    met = rows_kept(of_rows, len(first.of_rows), filters)
    inside = (first.quarters >= joined.first) & (first.quarters < joined.end)
    rows = first.sessions[inside], first.quarters[inside], first.visitors[inside]
    return _chosen(with_met, with_others, [(*rows, met[inside])])


def _chosen_by_rows(joined: JoinedParts, filters: Sequence[Filter]) -> _Chosen:
    """Those of all rows in the range."""
    with_met, with_others = np.zeros((2, joined.count(SESSION_COLUMN)), np.bool_)
    names = (SESSION_COLUMN, QUARTER_COLUMN, VISITOR_COLUMN)
    columns = [(joined.columns(table, *names), table) for table in TABLES]
    rows = [
        (*(own[name] for name in names), rows_that_meet(joined, table, filters))
        for own, table in columns
    ]
    return _chosen(with_met, with_others, rows)


def _chosen(
    with_met: Numbers, with_others: Numbers, tables: Sequence[tuple[Numbers, ...]]
) -> _Chosen:
    """With rows of tables: their sessions, quarters and visitors, and whether they are met."""
    met_keys, other_keys = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for sessions, quarters, visitors, met in tables:
        with_met[sessions[met]] = with_others[sessions[~met]] = True
        without = sessions == WITHOUT
        keys = quarter_keys(quarters[without], visitors[without])
        met_keys.append(keys[met[without]])
        other_keys.append(keys[~met[without]])
    with_met[WITHOUT] = with_others[WITHOUT] = False
    return _Chosen(with_met, with_others, np.concatenate(met_keys), np.concatenate(other_keys))
