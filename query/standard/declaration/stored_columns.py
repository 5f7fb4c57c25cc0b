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


class StoredColumns(Struct, frozen=True, kw_only=True):
    """A statement in the scope of the query, and how its rows complete those of the form."""

    statement: Statement
    join: JoinColumns
