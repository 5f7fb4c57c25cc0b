"""Choosing: whose rows a page shows, found before those rows are made.

A row of a long list says much about one session or visitor. To make all of them for the hundred
thousands that no page shows takes ten times as long as to put them in order. So a first statement
puts only the keys in order, and the type's own statement is asked about the few on the page.
"""

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.time_range import TimeRange
from query.scope.scope import Scope
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.statement import Cte, Statement
from query.standard.nested_lists import narrow_scope
from query.standard.statement import build_statement

MAX_KEYS = 1_000
"""Keys that are chosen at most; for pages further on the whole answer is made."""

# Rows that are equal in what they are ordered by are chosen together: the type's own order decides.
CUTOFF = Cte(
    "cut",
    """
    SELECT MIN(standing) AS least, MAX(together) AS total
      FROM (SELECT standing, COUNT(*) OVER () AS together
              FROM ordered
             ORDER BY standing DESC
             LIMIT $last) AS foremost
    """,
)
PAGE_SQL = """
    SELECT chosen, began, ended, total
      FROM ordered
      JOIN cut
        ON standing >= least
"""


class PageKeys(Struct, frozen=True):
    """A scope of the rows that the page is about, and how many rows all pages have."""

    scope: Scope
    total: int


async def find_page_keys(
    engine: Engine, choice: PageKeyQuery, scope: Scope, last: int, seconds: float
) -> PageKeys | None:
    """What the rows up to the `last` are made of; None when it is not worth while to choose."""
    if last > MAX_KEYS:
        return None
    statement = Statement(
        ctes=(*choice.ctes, Cte("ordered", choice.sql), CUTOFF),
        sql=PAGE_SQL,
        values={"last": last},
        not_materialized=choice.not_materialized,
    )
    rows = await engine.rows(await build_statement(engine, scope, statement), seconds)
    if not rows or len(rows) > MAX_KEYS:
        return None
    return PageKeys(_narrowed_scope(scope, choice.key, rows), rows[0][-1])


def _narrowed_scope(scope: Scope, key: str, rows: list[Row]) -> Scope:
    """The scope, of these keys and of the time that they have rows in."""
    span = TimeRange(min(row[1] for row in rows), max(row[2] for row in rows) + 1, scope.span.zone)
    narrowed = narrow_scope(scope, key, [row[0] for row in rows], "key")
    return structs.replace(narrowed, span=span, other_tables=scope.other_tables)
