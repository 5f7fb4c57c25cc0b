"""Filters that select sessions: by facts of the visit, and by attributes of their rows.

Rows are read of the sessions that meet the filters. Of sessions with rows that do and others, and
of rows without a session, rows are selected by their keys. Metrics of visits are of whole sessions
with a row that meets the filters.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.attribute_rank import RANK_COLUMN, TABLES
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import (
    DEVICES,
    ENTRY_PAGE,
    EXIT_PAGE,
    FACTS,
    OTHER_EVENTS,
    PAGES,
    SESSIONLESS,
    SESSIONS,
    SOURCES,
    label,
)
from query.prepared.rollup_view import RollupView
from query.prepared.selection import LinkKeys, SelectedIds, SelectedKeys
from query.prepared.session_attributes import SessionAttributes, session_attributes
from query.prepared.shared_ids import WITHOUT
from query.prepared.text_filters import rows_kept, rows_that_meet
from query.prepared.visits_index import fact_values
from query.request.filter_struct import Filter, fields_named, names_behavior
from query.scope.visits import VISIT_PREFIX

SESSION_TABLES = frozenset(
    table.name for table in (SESSIONS, PAGES, FACTS, OTHER_EVENTS, SESSIONLESS)
)
"""The tables whose rows have a session, and that of the rows that have none."""
FACT_BY_FIELD: Mapping[str, str] = {
    **{source: source for source in SOURCES},
    **{VISIT_PREFIX + fact: fact for fact in (*SOURCES, ENTRY_PAGE, EXIT_PAGE, *DEVICES)},
}
"""The fact of the visit by the field of a filter."""

NO_KEYS = np.empty(0, np.int64)


def divided(filters: Sequence[Filter]) -> tuple[Sequence[Filter], Sequence[Filter]]:
    """Those on facts of the visit that rollups have, and the others."""
    of_visits = [each for each in filters if _is_of_visit(each)]
    return of_visits, [each for each in filters if not _is_of_visit(each)]


def _is_of_visit(filter_: Filter) -> bool:
    return not names_behavior(filter_) and fields_named(filter_) <= FACT_BY_FIELD.keys()


def rows_of_visits(joined: RollupView, filters: Sequence[Filter]) -> RollupView | None:
    """The rows of the visits that meet the filters, which name facts only.

    None when rollups do not determine them.
    """
    fields = set[str]().union(*map(fields_named, filters))
    names = {field: FACT_BY_FIELD[field] for field in fields}
    without = _keys_without_session(joined, names, filters)
    facts = {field: fact_values(joined, name) for field, name in names.items()}
    told = {f: (each.numbers, each.texts) for f, each in facts.items() if each is not None}
    if len(told) < len(facts) or without is None:
        return None
    flags = rows_kept(told, joined.count(SESSION_COLUMN), filters)
    by_key = np.zeros(len(flags), np.bool_)
    by_key[WITHOUT] = True
    kept = SelectedIds(flags & ~by_key)
    if len(without):
        kept = SelectedIds(kept.flags, SelectedKeys(by_key, joined.link_keys, without))
    return joined.of_sessions(kept, kept)


def _keys_without_session(
    joined: RollupView, facts: Mapping[str, str], filters: Sequence[Filter]
) -> Numbers | None:
    """The keys of the rows without a session that are kept.

    None when only some rows of one are, or rollups do not have these facts of them.
    """
    columns = joined.columns(SESSIONLESS.name, QUARTER_COLUMN, VISITOR_COLUMN, RANK_COLUMN)
    quarters, visitors, places = columns.values()
    if not len(quarters):
        return NO_KEYS
    keys = joined.link_keys.of(quarters, visitors, np.full(len(quarters), WITHOUT), places)
    if not {*facts.values()} <= {*SOURCES}:
        return None
    texts = {
        field: joined.text_numbers(SESSIONLESS.name, label(fact)) for field, fact in facts.items()
    }
    kept = rows_kept(texts, len(keys), filters)
    found = np.unique(keys[kept])
    return None if np.isin(keys[~kept], found).any() else found


def is_of_attributes(filter_: Filter) -> bool:
    """Whether a filter names places and devices only."""
    names = map(label, fields_named(filter_))
    return not names_behavior(filter_) and {*names} <= {*FACTS.texts}


def rows_of_attributes(joined: RollupView, filters: Sequence[Filter]) -> RollupView | None:
    """The rows that meet the filters, which name places and devices only.

    None when rollups do not determine them.
    """
    chosen = _chosen_by_index(joined, filters) or [_chosen_by_rows(joined, filters)]
    kept = [owners for each in chosen if (owners := _kept(joined.link_keys, each)) is not None]
    if len(kept) < len(chosen):
        return None
    own = joined.of_sessions(kept[0], kept[-1])
    if len(chosen) > 1 or any((each.by_key & each.with_met).any() for each in chosen):
        whole = SelectedIds(_with_met(joined, chosen))
        own.whole_sessions = joined.of_sessions(whole, whole)
    return own


class _Chosen(Struct, frozen=True, eq=False):
    """What filters choose: whole sessions, and rows by their keys."""

    sessions: Numbers
    """Whether all rows of a session meet them."""
    with_met: Numbers
    """Whether any row of a session does."""
    by_key: Numbers
    """Whether keys say which rows of a session do."""
    met: Numbers
    """Keys of rows of these that meet them."""
    others: Numbers
    """Keys of others."""


def _with_met(joined: RollupView, chosen: Sequence[_Chosen]) -> Numbers:
    """Whether any row of a session in the range meets the filters."""
    if len(chosen) == 1:
        return chosen[0].with_met
    stored_only, unprepared = chosen
    # an index has the rows of all times; those of a session in the range may all be of the rest
    unsure = stored_only.with_met & stored_only.sessions & ~unprepared.with_met
    unsure &= joined.unprepared_flags(TABLES, SESSION_COLUMN)
    stored = joined.of_ids(SESSION_COLUMN, unsure, with_rest=False)
    for table in TABLES:
        unsure[stored.columns(table, SESSION_COLUMN)[SESSION_COLUMN]] = False
    return (stored_only.with_met & ~unsure) | unprepared.with_met


def _kept(link_keys: LinkKeys, chosen: _Chosen) -> SelectedIds | None:
    """None when a key is that of rows that meet the filters, and of others."""
    if np.isin(chosen.others, chosen.met).any():
        return None
    return SelectedIds(
        chosen.sessions, SelectedKeys(chosen.by_key, link_keys, np.unique(chosen.met))
    )


def _chosen_by_index(joined: RollupView, filters: Sequence[Filter]) -> list[_Chosen] | None:
    """Those of stored rollups, and of the rest if there is one; None where there is no index."""
    names = set[str]().union(*map(fields_named, filters))
    indexes = {name: session_attributes(joined, name) for name in names}
    known = {name: each for name, each in indexes.items() if each is not None}
    if len(known) < len(names):
        return None
    if len(known) > 1 and any(each.has_several for each in known.values()):
        return None  # these have other rows one by one
    stored_only = _met_by_index(joined, known, filters)
    if not joined.has_unprepared:
        return [stored_only]
    return [stored_only, _chosen_by_rows(joined.unprepared(), filters)]


def _met_by_index(
    joined: RollupView, known: Mapping[str, SessionAttributes], filters: Sequence[Filter]
) -> _Chosen:
    """Those of stored rollups."""
    first = next(iter(known.values()))
    count = len(first.of_sessions)
    of_sessions = {name: (each.of_sessions, each.texts) for name, each in known.items()}
    sessions, by_key = np.zeros((2, joined.count(SESSION_COLUMN)), np.bool_)
    sessions[:count] = rows_kept(of_sessions, count, filters)
    by_key[first.sessions] = by_key[WITHOUT] = True
    of_rows = {name: (each.of_rows, each.texts) for name, each in known.items()}
    met = rows_kept(of_rows, len(first.of_rows), filters)
    inside = (first.quarters >= joined.first) & (first.quarters < joined.end)
    rows = first.quarters, first.visitors, first.sessions, first.places
    keys = joined.link_keys.of(*(each[inside] for each in rows))
    with_met = sessions & ~by_key
    with_met[first.sessions[inside & met]] = True
    with_met[WITHOUT] = False
    met, others = keys[met[inside]], keys[~met[inside]]
    return _Chosen(sessions & ~by_key, with_met, by_key, met, others)


def _chosen_by_rows(joined: RollupView, filters: Sequence[Filter]) -> _Chosen:
    """Those of all rows in the range."""
    names = (QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN, RANK_COLUMN)
    columns = [joined.columns(table, *names) for table in TABLES]
    quarters, visitors, sessions, places = (
        np.concatenate([each[name] for each in columns]) for name in names
    )
    met = np.concatenate([rows_that_meet(joined, table, filters) for table in TABLES])
    with_met, with_others = np.zeros((2, joined.count(SESSION_COLUMN)), np.bool_)
    with_met[sessions[met]] = with_others[sessions[~met]] = True
    with_met[WITHOUT] = False
    by_key = with_met & with_others
    by_key[WITHOUT] = True
    at = np.flatnonzero(by_key[sessions])
    keys = joined.link_keys.of(quarters[at], visitors[at], sessions[at], places[at])
    return _Chosen(with_met & ~by_key, with_met, by_key, keys[met[at]], keys[~met[at]])
