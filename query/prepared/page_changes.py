"""Page changes: the page views of sessions at which another page begins."""

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.page_views import OrderedViews


class PageChanges(Struct, frozen=True, eq=False):
    """Session after session, each in order; the first page view of a session is one of them."""

    sessions: Numbers
    visitors: Numbers
    pages: Numbers
    starts: Numbers
    """Where the changes of each session begin."""
    ends: Numbers
    """For each change, where those of its session end."""


def page_changes(views: OrderedViews) -> PageChanges:
    """The changes of page; consecutive views of one page are one."""
    begins = _differs(views.sessions)
    kept = np.flatnonzero(begins | _differs(views.pages))
    starts = np.flatnonzero(begins[kept])
    borders = np.append(starts, len(kept))
    ends = np.repeat(borders[1:], np.diff(borders))
    return PageChanges(views.sessions[kept], views.visitors[kept], views.pages[kept], starts, ends)


def _differs(values: Numbers) -> Numbers:
    """Whether each value is another one than the value before it."""
    differs = np.ones(len(values), np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs
