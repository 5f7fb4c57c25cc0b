"""Periods in which visitors were active, from parts: the one before it, and who is new in it."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.active_buckets import active_buckets
from query.prepared.earlier_visitors import are_among
from query.prepared.form_ranges import AfterEarlier
from query.prepared.group_numbers import number_keys
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import VISITOR_COLUMN
from query.prepared.quarters import Quarters
from query.prepared.totals_index import TABLES

NO_PERIOD = 0
"""In place of the period before one of a visitor, which is numbered from 1."""


class LifecyclePeriods(AfterEarlier, frozen=True):
    """A row for each period, the visitors' period before it, and whether they are new.

    Visitors are new in their first period of the range if they have no event before the range.
    """

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        numbers, count = quarters.numbers, len(quarters.numbers)
        visitors, own = active_buckets(joined, quarters.buckets, count)
        last, is_new = _before(joined, visitors, own)
        keys = (own * (count + 1) + last) * 2 + is_new
        found, groups = number_keys(keys, count * (count + 1) * 2)
        periods, new = np.divmod(found, 2)
        of_period, of_last = np.divmod(periods, count + 1)
        columns = (each.tolist() for each in (of_period, of_last, new, np.bincount(groups)))
        return [
            (numbers[period], numbers[before - 1] if before else None, is_first, visitor_count)
            for period, before, is_first, visitor_count in zip(*columns, strict=True)
        ]


def _before(joined: JoinedParts, visitors: Numbers, own: Numbers) -> tuple[Numbers, Numbers]:
    """For each active period of a visitor, in order, the one before it and whether it is new."""
    is_first = np.concatenate([[True], visitors[1:] != visitors[:-1]])[: len(visitors)]
    last = np.full(len(own), NO_PERIOD)
    again = np.flatnonzero(~is_first)
    last[again] = own[again - 1] + 1
    is_new = is_first.astype(np.int64)
    if len(joined.earlier):
        first = np.flatnonzero(is_first)
        is_new[first] = ~are_among(joined.hashes(VISITOR_COLUMN, visitors[first]), joined.earlier)
    return last, is_new
