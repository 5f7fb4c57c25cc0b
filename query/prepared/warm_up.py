"""Queries that found no rollups are rerun in the background to warm the caches.

Joining rollups takes a second or more, which the next one who asks does not wait for, also of a
process that starts later.
"""

from msgspec import Struct

from query.prepared.forms import RollupPlan
from query.request.time_range import Granularity
from query.scope.row_scope import Scope

MAX_WAITING = 64


class WarmUpQuery(Struct, frozen=True):
    """The rows that a query asked for."""

    form: RollupPlan
    scope: Scope
    granularity: Granularity


class WarmUpQueue:
    """The newest of these queries, each once, with the newest version of its tables."""

    def __init__(self) -> None:
        self._queries: dict[object, WarmUpQuery] = {}

    def add(self, query: WarmUpQuery) -> None:
        """Have a query run when the rollups that it lacks are made."""
        key = query.form, query.scope.subjects, query.scope.time_range, query.granularity
        self._queries.pop(key, None)
        self._queries[key] = query
        if len(self._queries) > MAX_WAITING:
            del self._queries[next(iter(self._queries))]

    def take(self) -> list[WarmUpQuery]:
        """All of them; they wait no longer."""
        taken = list(self._queries.values())
        self._queries.clear()
        return taken
