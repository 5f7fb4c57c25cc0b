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
    borders: Numbers
    """Where the changes of each session begin, and the number of all."""

    @property
    def starts(self) -> Numbers:
        """Where the changes of each session begin."""
        return self.borders[:-1]

    def ends_of(self, at: Numbers) -> Numbers:
        """Where the changes of the sessions of some changes end."""
        return self.borders[np.searchsorted(self.borders, at, side="right")]


def page_changes(views: OrderedViews) -> PageChanges:
    """The changes of page; consecutive views of one page are one."""
    begins = _differs(views.sessions)
    kept = np.flatnonzero(begins | _differs(views.pages))
    borders = np.append(np.flatnonzero(begins[kept]), len(kept))
    return PageChanges(views.sessions[kept], views.visitors[kept], views.pages[kept], borders)


def _differs(values: Numbers) -> Numbers:
    """Whether each value is another one than the value before it."""
    differs = np.ones(len(values), np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs
