"""Finds the keys on the page first, then computes only their rows.

A row of a long list aggregates much about one session or visitor. Computing the rows of all pages
takes ten times as long as sorting their keys. So the keys alone are sorted first, by prepared
results or by a statement, and the type's own statement then reads the few that are on the page.

Of a list of single events by time, the numbers of rows by quarter of an hour tell since when the
rows up to the end of the page are, and only their time is read.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.prepared.forms import RollupPlan
from query.prepared.listed_keys import KeyList, ListedKeys, first_of, score_bounds
from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup_tables import QUARTER_MS
from query.request.order import OrderTerm
from query.request.time_range import TimeRange
from query.response.worker_threads import run_in_worker
from query.scope.key_spans import key_spans
from query.scope.row_scope import of_whole_visits
from query.scope.scope import Scope
from query.sql.fragment import Fragment, merge_values
from query.sql.select import Cte
from query.standard.declaration.listing import NewestRows, PageKeyQuery, PreparedKeys
from query.standard.declaration.statement import Statement
from query.standard.statement import build_statement
from schemas.errors import ResultTooLarge
from schemas.telemetry.instruments import LIST_PAGES

VISIT_KEY = "session_hash"
MAX_KEYS = 1_000
"""Keys up to the end of the page at most; for later pages all rows are computed."""

OWN_ORDER = "sort_rank"
PAGE_SQL = """
    SELECT page_key, first_ms, last_ms, total
      FROM ordered_keys
      JOIN page_cutoff
        ON {not_after}
"""


class PageKeys(Struct, frozen=True):
    """A scope limited to the keys of the page, and the number of rows of all pages."""

    scope: Scope
    total: int


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


async def find_page_keys(
    engine: Engine,
    key_query: PageKeyQuery,
    scope: Scope,
    orders: Sequence[OrderTerm],
    last: int,
    other_scopes: Mapping[str, Scope],
    seconds: float,
) -> PageKeys | None:
    """The keys of the rows up to the `last`; None when they are too many or not found so."""
    fields = [order.field for order in orders]
    if last > MAX_KEYS or not key_query.can_order_by(fields):
        return None
    terms = [_KeyOrder(f"order_{i}", order.direction == "asc") for i, order in enumerate(orders)]
    terms.append(_KeyOrder(OWN_ORDER, ascending=False))
    statement = Statement(
        ctes=(
            *key_query.all_ctes(fields),
            Cte("ordered_keys", key_query.sql(fields)),
            _cutoff(terms),
        ),
        sql=PAGE_SQL.format(not_after=_not_after(terms)),
        values=merge_values({"last": last}, key_query.values),
        inlined=key_query.inlined,
    )
    rows = await engine.rows(await build_statement(engine, scope, statement, other_scopes), seconds)
    if not rows:
        return PageKeys(scope, 0)
    if len(rows) > MAX_KEYS:
        return None
    return PageKeys(narrowed_scope(scope, key_query.column, rows), rows[0][-1])


class _KeyOrder(Struct, frozen=True):
    """A column of `ordered_keys` by which they are sorted; NULL comes last."""

    name: str
    ascending: bool

    @property
    def sql(self) -> str:
        return f"{self.name} {'ASC' if self.ascending else 'DESC'} NULLS LAST"

    @property
    def reversed(self) -> str:
        return f"{self.name} {'DESC' if self.ascending else 'ASC'} NULLS FIRST"


def _cutoff(terms: Sequence[_KeyOrder]) -> Cte:
    """The values by which the last key of the page is sorted, and the number of all keys."""
    names = ", ".join(term.name for term in terms)
    cut = ", ".join(f"{term.name} AS last_{term.name}" for term in terms)
    backwards = ", ".join(term.reversed for term in terms)
    return Cte(
        "page_cutoff",
        f"""
        SELECT {cut}, total
          FROM (SELECT {names}, total, ROW_NUMBER() OVER (ORDER BY {backwards}) AS from_end
                  FROM (SELECT {names}, COUNT(*) OVER () AS total
                          FROM ordered_keys
                         ORDER BY {", ".join(term.sql for term in terms)}
                         LIMIT $last) AS first_keys) AS numbered_keys
         WHERE from_end = 1
        """,  # noqa: S608
    )


def _not_after(terms: Sequence[_KeyOrder]) -> str:
    """The condition that a key is not sorted after the last one of the page.

    Keys that are sorted alike are all kept: the type's own order decides between their rows.
    """
    term, *others = terms
    name, last = term.name, f"last_{term.name}"
    if not others:
        return f"{name} >= {last}"
    before = f"{name} {'<' if term.ascending else '>'} {last}"
    return (
        f"({before} OR ({last} IS NULL AND {name} IS NOT NULL)"
        f" OR ({name} IS NOT DISTINCT FROM {last} AND {_not_after(others)}))"
    )


def narrowed_scope(scope: Scope, key: str, rows: Sequence[Row]) -> Scope:
    """The scope, limited to keys and to the time between their first and last row.

    A row is a key with the first and the last instant of what belongs to it.
    """
    own = scope.time_range
    spans = key_spans(((row[1], row[2]) for row in rows), own.start_ms, own.end_ms)
    time_range = TimeRange(spans.starts[0], spans.ends[-1] + 1, own.zone)
    narrowed = structs.replace(
        scope,
        # a join by hash, which the scan uses to skip rows before it reads further columns
        keys=Fragment(f"IN_LONG_LIST({key}, $key)", {"key": [row[0] for row in rows]}),
        # sets of visitors may be of facts of other visits than those of the page
        keys_are_visits=key == VISIT_KEY and not scope.visit_where.visitor_sets,
        fact_range=own,
    )
    in_spans = {"time_range": time_range, "key_spans": spans}
    if key == VISIT_KEY:  # what the filters keep is decided: rows are those of whole visits
        return structs.replace(of_whole_visits(narrowed), **in_spans)
    # With a filter on rows, visits may reach beyond the rows that the keys were found by.
    return narrowed if scope.where.text else structs.replace(narrowed, **in_spans)


async def find_newest_rows(
    newest: NewestRows,
    scope: Scope,
    last: int,
    rows_of: Callable[[RollupPlan], Awaitable[Sequence[Row]]],
    fetch: Callable[[Statement], Awaitable[list[Row]]],
) -> tuple[PageKeys, bool]:
    """The time of the newest rows up to the `last`, and the number of all rows.

    And whether prepared results counted them.
    """
    try:
        counts, prepared = await rows_of(newest.form), True
    except NotPrepared:
        counts, prepared = await fetch(newest.counts), False
    LIST_PAGES.labels("prepared" if prepared else "rows").inc()
    found = PageKeys(since_row(scope, counts, last), sum(count for _, count in counts))
    return found, prepared


def since_row(scope: Scope, counts: Sequence[Row], last: int) -> Scope:
    """The scope from the quarter of its newest rows up to the `last`.

    `counts` are quarters since 1970 in ascending order, and the number of rows in each.
    """
    own = scope.time_range
    from_end = counts[::-1]
    sums = accumulate(count for _, count in from_end)
    quarters = (row[0] for row, known in zip(from_end, sums, strict=True) if known >= last)
    first = next(quarters, counts[0][0] if counts else own.end_ms // QUARTER_MS)
    start_ms = max(own.start_ms, first * QUARTER_MS)
    return structs.replace(
        scope, time_range=TimeRange(start_ms, own.end_ms, own.zone), fact_range=own
    )
