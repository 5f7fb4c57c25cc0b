"""StoredColumns: the columns of a prepared query type that parts do not have, from stored rows.

The form gives the rows with their counts, and a smaller statement the columns that are missing.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from query.engine.engine import Row
from query.standard.declaration.statement import Statement

JoinColumns: TypeAlias = Callable[[Sequence[Row], Sequence[Row]], Sequence[Row]]
"""The rows that the SQL of the type would give, from those of the form and of the statement."""


StatementOfRows: TypeAlias = Callable[[Sequence[Row]], Statement | None]
"""The statement that completes rows of the form; None where they are complete."""


class StoredColumns(Struct, frozen=True, kw_only=True):
    """A statement in the scope of the query, and how its rows complete those of the form."""

    statement: Statement | StatementOfRows
    join: JoinColumns

    def statement_for(self, rows: Sequence[Row]) -> Statement | None:
        """The statement that completes these rows; None where they are complete."""
        own = self.statement
        return own if isinstance(own, Statement) else own(rows)
