"""Finds the keys on the page first, then computes only their rows.

A row of a long list aggregates much about one session or visitor. Computing the rows of all pages
takes ten times as long as sorting their keys. So a first statement sorts only the keys, and the
type's own statement then reads the few that are on the page.
"""

from collections.abc import Mapping

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.time_range import TimeRange
from query.scope.row_scope import of_whole_visits
from query.scope.scope import Scope
from query.sql.select import Cte
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.statement import Statement
from query.standard.nested_lists import among
from query.standard.statement import build_statement

VISIT_KEY = "session_hash"
MAX_KEYS = 1_000
"""Keys up to the end of the page at most; for later pages all rows are computed."""

# Keys of equal rank are all kept: the type's own order decides between their rows.
CUTOFF = Cte(
    "page_cutoff",
    """
    SELECT MIN(sort_rank) AS lowest_rank, MAX(total_keys) AS total
      FROM (SELECT sort_rank, COUNT(*) OVER () AS total_keys
              FROM ordered_keys
             ORDER BY sort_rank DESC
             LIMIT $last) AS top_ranks
    """,
)
PAGE_SQL = """
    SELECT page_key, first_ms, last_ms, total
      FROM ordered_keys
      JOIN page_cutoff
        ON sort_rank >= lowest_rank
"""


class PageKeys(Struct, frozen=True):
    """A scope limited to the keys of the page, and the number of rows of all pages."""

    scope: Scope
    total: int


async def find_page_keys(
    engine: Engine,
    key_query: PageKeyQuery,
    scope: Scope,
    other_scopes: Mapping[str, Scope],
    last: int,
    seconds: float,
) -> PageKeys | None:
    """The keys of the rows up to the `last`; None when there are too many to be worth it."""
    if last > MAX_KEYS:
        return None
    statement = Statement(
        ctes=(*key_query.ctes, Cte("ordered_keys", key_query.sql), CUTOFF),
        sql=PAGE_SQL,
        values={"last": last},
        inlined=key_query.inlined,
    )
    rows = await engine.rows(await build_statement(engine, scope, statement, other_scopes), seconds)
    if not rows or len(rows) > MAX_KEYS:
        return None
    return PageKeys(_narrowed_scope(scope, key_query.key, rows), rows[0][-1])


def _narrowed_scope(scope: Scope, key: str, rows: list[Row]) -> Scope:
    """The scope, limited to these keys and to the time between their first and last row."""
    time_range = TimeRange(
        min(row[1] for row in rows), max(row[2] for row in rows) + 1, scope.time_range.zone
    )
    narrowed = structs.replace(
        scope,
        keys=among(key, [row[0] for row in rows], "key"),
        # sets of visitors may be of facts of other visits than those of the page
        keys_are_visits=key == VISIT_KEY and not scope.visit_where.visitor_sets,
        fact_range=scope.time_range,
    )
    if key == VISIT_KEY:  # what the filters keep is decided: rows are those of whole visits
        return structs.replace(of_whole_visits(narrowed), time_range=time_range)
    # With a filter on rows, visits may reach beyond the rows that the keys were found by.
    return narrowed if scope.where.text else structs.replace(narrowed, time_range=time_range)
