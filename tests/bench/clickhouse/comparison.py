"""The first difference between our response and ClickHouse's.

Texts and whole numbers are equal. Ours rounds shares and medians to two decimals and ClickHouse
does not, so these may be half of the last decimal apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

HALF_OF_LAST_DECIMAL = 0.005 + 1e-9
RENAMED = {"label": "name"}
"""Result columns with the name of a stored column."""

Rows = Sequence[Mapping[str, Any]]


def first_difference(ours: Rows, theirs: Rows) -> str | None:
    """Row, field and both values; None when the answers are the same, in the same order."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows and {len(theirs)} rows"
    for number, (our_row, their_row) in enumerate(zip(ours, theirs, strict=True)):
        named = {RENAMED.get(name, name): value for name, value in their_row.items()}
        if our_row.keys() != named.keys():
            return f"row {number}: fields {list(our_row)} and {list(named)}"
        for name, value in our_row.items():
            if not same(value, named[name]):
                return f"row {number}, {name}: {value!r} and {named[name]!r}"
    return None


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same; a rounded one is the nearest to the other."""
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return abs(ours - theirs) <= HALF_OF_LAST_DECIMAL
    return type(ours) is type(theirs) and bool(ours == theirs)
