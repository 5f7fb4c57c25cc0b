"""Filters on facts of the visit: they keep whole sessions, so parts are read of these sessions.

Rows without a session have facts of their own, of which parts have the sources only. They are
linked with other tables by the keys of rows: all rows of a key have to be kept, or none.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.kept_rows import ByKey, KeptOwners
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import (
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
from query.prepared.row_places import PLACE_COLUMN
from query.prepared.session_values import fact_values
from query.prepared.text_filters import rows_kept
from query.request.filter_struct import Filter, fields_named, names_behavior
from query.scope.visits import VISIT_PREFIX

TABLES = frozenset(table.name for table in (SESSIONS, PAGES, FACTS, OTHER_EVENTS, SESSIONLESS))
"""The tables whose rows have a session, and that of the rows that have none."""
FACT_BY_FIELD: Mapping[str, str] = {
    **{source: source for source in SOURCES},
    **{VISIT_PREFIX + fact: fact for fact in (*SOURCES, ENTRY_PAGE, EXIT_PAGE, *DEVICES)},
}
"""The fact of the visit by the field of a filter."""

NO_KEYS = np.empty(0, np.int64)


def divided(filters: Sequence[Filter]) -> tuple[Sequence[Filter], Sequence[Filter]]:
    """Those on facts of the visit that parts have, and the others."""
    of_visits = [each for each in filters if _is_of_visit(each)]
    return of_visits, [each for each in filters if not _is_of_visit(each)]


def _is_of_visit(filter_: Filter) -> bool:
    return not names_behavior(filter_) and fields_named(filter_) <= FACT_BY_FIELD.keys()


def rows_of_visits(joined: JoinedParts, filters: Sequence[Filter]) -> JoinedParts | None:
    """The rows of the visits that meet the filters, which name facts only.

    None when parts cannot tell them.
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
    kept = KeptOwners(flags & ~by_key)
    if len(without):
        kept = KeptOwners(kept.flags, ByKey(by_key, joined.row_keys, without))
    return joined.of_sessions(kept, kept)


def _keys_without_session(
    joined: JoinedParts, facts: Mapping[str, str], filters: Sequence[Filter]
) -> Numbers | None:
    """The keys of the rows without a session that are kept.

    None when only some rows of one are, or parts do not have these facts of them.
    """
    columns = joined.columns(SESSIONLESS.name, QUARTER_COLUMN, VISITOR_COLUMN, PLACE_COLUMN)
    quarters, visitors, places = columns.values()
    if not len(quarters):
        return NO_KEYS
    keys = joined.row_keys.of(quarters, visitors, np.full(len(quarters), WITHOUT), places)
    if not {*facts.values()} <= {*SOURCES}:
        return None
    texts = {
        field: joined.text_numbers(SESSIONLESS.name, label(fact)) for field, fact in facts.items()
    }
    kept = rows_kept(texts, len(keys), filters)
    found = np.unique(keys[kept])
    return None if np.isin(keys[~kept], found).any() else found
