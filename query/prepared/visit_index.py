"""Visits from parts: the first or the last page view of each, whichever part has it.

Parts have a row for each visit and UTC day; the row of that page view has the visit's facts.
"""

from collections.abc import Mapping

import numpy as np

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import least
from query.prepared.part import SESSION_COLUMN
from query.prepared.part_tables import QUARTER_MS

VISIT_COLUMNS = (SESSION_COLUMN, "quarter", "start_ms", "span_ms")


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
