"""Finds the keys on a page from prepared parts, as `page_keys` does by SQL."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from query.engine.engine import Row
from query.prepared.listed_keys import KeyList, ListedKeys, first_of, score_bounds
from query.prepared.not_prepared import NotPrepared
from query.request.order import OrderTerm
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.standard.declaration.listing import PageKeyQuery, PreparedKeys
from query.standard.declaration.statement import Statement
from query.standard.page_keys import MAX_KEYS, PageKeys, narrowed_scope
from schemas.errors import ResultTooLarge
from schemas.telemetry.instruments import LIST_PAGES


async def find_prepared_keys(
    key_query: PageKeyQuery,
    scope: Scope,
    orders: Sequence[OrderTerm],
    last: int,
    keys_of: Callable[[KeyList], Awaitable[Sequence[Row]]],
    fetch: Callable[[Statement], Awaitable[list[Row]]],
) -> PageKeys | None:
    """The keys of the rows up to the `last`; None when they are too many or not found so."""
    if key_query.prepared is None:
        return None
    found = await _find(key_query, key_query.prepared, scope, orders, last, keys_of, fetch)
    LIST_PAGES.labels("rows" if found is None else "prepared").inc()
    return found


async def _find(
    key_query: PageKeyQuery,
    keys: PreparedKeys,
    scope: Scope,
    orders: Sequence[OrderTerm],
    last: int,
    keys_of: Callable[[KeyList], Awaitable[Sequence[Row]]],
    fetch: Callable[[Statement], Awaitable[list[Row]]],
) -> PageKeys | None:
    fields = [term.field for term in orders]
    if last > MAX_KEYS or not keys.can_order_by(fields):
        return None
    try:
        listed = await keys_of(keys.form.with_fields(fields))
    except NotPrepared:
        return None
    if not isinstance(listed, ListedKeys):  # nothing is listed where there are no rows
        return None
    try:
        counts = {field: await fetch(statement) for field, statement in keys.counts.items()}
    except ResultTooLarge:  # the search by SQL joins them without a result
        return None
    rows = await run_in_worker(len(listed), partial(_first, keys, listed, counts, orders, last))
    if not rows:
        return None
    return PageKeys(narrowed_scope(scope, key_query.column, rows), len(listed))


def _first(
    keys: PreparedKeys,
    listed: ListedKeys,
    counts: Mapping[str, Sequence[Row]],
    orders: Sequence[OrderTerm],
    last: int,
) -> Sequence[Row]:
    """Hash, first and last instant of what may be among the first; nothing when it is too much."""
    values = dict(listed.values)
    for field, counted in counts.items():
        values[field] = (listed.of_hashes(counted),) * 2
    for field, score in keys.scores.items():
        values[field] = score_bounds(score, values)
    terms = [(order.field, order.direction == "asc") for order in orders]
    terms += [(field, False) for field in keys.own_order]
    positions = first_of([(values[f], ascending) for f, ascending in terms], len(listed), last)
    return listed.rows(positions) if len(positions) <= MAX_KEYS else ()
