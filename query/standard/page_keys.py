"""Finds the keys on the page first, then computes only their rows.

A row of a long list aggregates much about one session or visitor. Computing the rows of all pages
takes ten times as long as sorting their keys. So a first statement sorts only the keys, and the
type's own statement then reads the few that are on the page.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.order import OrderTerm
from query.request.time_range import TimeRange
from query.scope.key_spans import key_spans
from query.scope.row_scope import of_whole_visits
from query.scope.scope import Scope
from query.sql.fragment import Fragment, merge_values
from query.sql.select import Cte
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.statement import Statement
from query.standard.statement import build_statement

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
