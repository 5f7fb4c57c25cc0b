"""Choosing: whose rows a page shows, found before those rows are made.

A row of a long list says much about one session or visitor. To make all of them for the hundred
thousands that no page shows takes ten times as long as to put them in order. So a first statement
puts only the keys in order, and the type's own statement is asked about the few on the page.
"""

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.time_range import Span
from query.scope.scope import Scope
from query.standard.declaration.query_type import Choice, Cte, Statement
from query.standard.nested_lists import narrow
from query.standard.statement import whole

MOST = 1_000
"""Keys that are chosen at most; for pages further on the whole answer is made."""

# Rows that are equal in what they are ordered by are chosen together: the type's own order decides.
CUT = Cte(
    "cut",
    """
    SELECT MIN(standing) AS least, MAX(together) AS total
      FROM (SELECT standing, COUNT(*) OVER () AS together
              FROM ordered
             ORDER BY standing DESC
             LIMIT $last) AS foremost
    """,
)
ON_THE_PAGE = """
    SELECT chosen, began, ended, total
      FROM ordered
      JOIN cut
        ON standing >= least
"""


class Chosen(Struct, frozen=True):
    """A scope of the rows that the page is about, and how many rows all pages have."""

    scope: Scope
    total: int


async def chosen(
    engine: Engine, choice: Choice, scope: Scope, last: int, seconds: float
) -> Chosen | None:
    """What the rows up to the `last` are made of; None when it is not worth while to choose."""
    if last > MOST:
        return None
    statement = Statement(
        given=(*choice.given, Cte("ordered", choice.sql), CUT),
        sql=ON_THE_PAGE,
        values={"last": last},
        afresh=choice.afresh,
    )
    rows = await engine.rows(await whole(engine, scope, statement), seconds)
    if not rows or len(rows) > MOST:
        return None
    return Chosen(_of(scope, choice.key, rows), rows[0][-1])


def _of(scope: Scope, key: str, rows: list[Row]) -> Scope:
    """The scope, of these keys and of the time that they have rows in."""
    span = Span(min(row[1] for row in rows), max(row[2] for row in rows) + 1, scope.span.zone)
    narrowed = narrow(scope, key, [row[0] for row in rows], "key")
    return structs.replace(narrowed, span=span, beside=scope.beside)
