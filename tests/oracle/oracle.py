"""Oracle: how one query type is answered slowly, and its limit when a question says none."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from tests.oracle.aggregates import Answer
from tests.oracle.query import Seen


class Oracle(Struct, frozen=True):
    """Gives all rows of the answer, in their order."""

    rows: Callable[[Seen], list[Answer]]
    limit: int = 100
    series: bool = False
    """Whether the answer is whole unless a limit is asked."""


Oracles = Mapping[str, Oracle]
