"""Filters on places and devices of rows, which are mostly the same in all rows of a session.

Where all rows of each session, and those without one of each quarter and visitor, meet the filters
or none does, parts are read of the sessions that meet them. Otherwise parts do not tell which of
the sums are of rows that do.
"""

from collections.abc import Sequence

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.joined_parts import JoinedParts
from query.prepared.kept_rows import quarter_keys
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import FACTS, OTHER_FACTS, label
from query.prepared.text_filters import rows_that_meet
from query.request.filter_struct import Filter, fields_named, names_behavior

TABLES = (FACTS.name, OTHER_FACTS.name)


def is_of_places(filter_: Filter) -> bool:
    """Whether a filter names places and devices only."""
    names = map(label, fields_named(filter_))
    return not names_behavior(filter_) and {*names} <= {*FACTS.texts}


def rows_of_places(joined: JoinedParts, filters: Sequence[Filter]) -> JoinedParts | None:
    """The rows that meet the filters, which name places and devices only.

    None when parts cannot tell them.
    """
    count = joined.count(SESSION_COLUMN)
    with_met, with_others = np.zeros((2, count), np.bool_)
    met_keys, other_keys = [], []
    for table in TABLES:
        met = rows_that_meet(joined, table, filters)
        rows = joined.columns(table, QUARTER_COLUMN, VISITOR_COLUMN, SESSION_COLUMN)
        sessions = rows[SESSION_COLUMN]
        with_met[sessions[met]] = with_others[sessions[~met]] = True
        without = sessions == WITHOUT
        keys = quarter_keys(rows[QUARTER_COLUMN][without], rows[VISITOR_COLUMN][without])
        met_keys.append(keys[met[without]])
        other_keys.append(keys[~met[without]])
    with_met[WITHOUT] = False
    kept: Numbers = np.unique(np.concatenate(met_keys))
    if (with_met & with_others).any() or np.isin(np.concatenate(other_keys), kept).any():
        return None
    return joined.of_sessions(with_met, kept)
