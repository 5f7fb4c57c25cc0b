"""Page transitions of sessions from parts."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows
from query.prepared.form_ranges import OfWholeRange
from query.prepared.group_numbers import sort_order
from query.prepared.joined_labels import SEPARATOR, label_order
from query.prepared.joined_parts import JoinedParts
from query.prepared.page_changes import PageChanges, page_changes
from query.prepared.page_views import ordered_views
from query.prepared.part_tables import PAGE_VIEWS
from query.prepared.quarters import Quarters


class PageFlow(OfWholeRange, frozen=True):
    """A row for each page and the next one, most transitions first."""

    tables: ClassVar[Sequence[str]] = (PAGE_VIEWS.name,)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        if (views := ordered_views(joined)) is None:
            return None
        texts = views.texts
        if (labels := label_order(texts)) is None:
            return None
        sources, targets, transitions, sessions = count_transitions(page_changes(views), len(texts))

        def make(at: Numbers) -> Sequence[Row]:
            columns = (each[at].tolist() for each in (sources, targets, transitions, sessions))
            return [
                (texts[a], texts[b], f"{texts[a]}{SEPARATOR}{texts[b]}", count, own)
                for a, b, count, own in zip(*columns, strict=True)
            ]

        def by_transitions(at: Numbers) -> Numbers:
            return -transitions[at]

        # a label is sorted by its first page, then by its second one
        by_label = labels.before[sources].astype(np.int64) * (2 * len(texts) + 1)
        by_label += labels.last[targets]
        by_field = {
            "from_path": (sources.__getitem__,),
            "to_path": (targets.__getitem__,),
            "name": (by_label.__getitem__,),
            "transitions": (transitions.__getitem__,),
            "sessions": (sessions.__getitem__,),
        }
        arrays = (sources, targets, transitions, sessions, by_label)
        size = sum(each.nbytes for each in arrays) + sum(len(text) + 60 for text in texts)
        keys = (by_transitions, sources.__getitem__, targets.__getitem__)
        return ArrayRows(len(sources), keys, make, by_field, size)


def count_transitions(
    changes: PageChanges, page_count: int
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Pages, next pages, how often that is so, and in how many sessions."""
    is_last = np.zeros(len(changes.pages), np.bool_)
    is_last[changes.borders[1:] - 1] = True
    has_next = np.flatnonzero(~is_last)
    pairs = changes.pages[has_next].astype(np.int64) * page_count + changes.pages[has_next + 1]
    order = sort_order(pairs)  # sessions stay in order within each pair
    pairs, sessions = pairs[order], changes.sessions[has_next][order]
    begins = np.ones(len(pairs), np.bool_)
    begins[1:] = pairs[1:] != pairs[:-1]
    other = begins.copy()
    other[1:] |= sessions[1:] != sessions[:-1]
    starts = np.flatnonzero(begins)
    transitions = np.diff(np.append(starts, len(pairs)))
    counts = np.add.reduceat(other, starts, dtype=np.int64) if len(starts) else transitions
    found = pairs[starts]
    return found // max(1, page_count), found % max(1, page_count), transitions, counts
