"""Oracle: computes the result of one query type slowly; its default limit."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from tests.oracle.aggregates import ResultRow
from tests.oracle.query import ScopedRows


class Oracle(Struct, frozen=True):
    """Gives all rows of the answer, in their order."""

    rows: Callable[[ScopedRows], list[ResultRow]]
    limit: int = 100
    series: bool = False
    """Whether the answer is whole unless a limit is asked."""


Oracles = Mapping[str, Oracle]
