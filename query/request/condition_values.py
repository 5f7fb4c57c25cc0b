"""The values of a condition: as many as its operator takes."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from query.request.filter_struct import Filter
from query.request.filter_values import Value
from query.request.operators import Arity, Operator
from schemas.errors import Malformed

MAX_LIST_VALUES = 1000
LIST_HINTS = {"eq": "; 'in' takes a list", "ne": "; 'not_in' takes a list"}


def values_of(filter_: Filter, operator: Operator, path: str) -> Sequence[Value]:
    """The values of a filter, as many as its operator takes; Malformed names the rule."""
    value = filter_.value
    if operator.arity is Arity.NONE:
        if value is not UNSET and value is not None:
            raise Malformed(f"'{path}.value' has no meaning for '{operator.name}'; leave it out")
        return ()
    if value is UNSET or value is None:
        raise Malformed(
            f"'{path}.value' is missing: '{operator.name}' takes {operator.arity}; "
            "use is_null or is_not_null to test for missing values"
        )
    if isinstance(value, list) is not (operator.arity is Arity.MANY):
        hint = LIST_HINTS.get(operator.name, "")
        raise Malformed(f"'{path}.value' must be {operator.arity} for '{operator.name}'{hint}")
    if not isinstance(value, list):
        return (value,)
    if not 1 <= len(value) <= MAX_LIST_VALUES:
        raise Malformed(
            f"'{path}.value' has {len(value)} values; 1 to {MAX_LIST_VALUES} are allowed"
        )
    return value


def with_index(values: Sequence[Value], operator: Operator) -> Iterator[tuple[str, Value]]:
    """Each value after its index, where the operator takes a list."""
    for i, value in enumerate(values):
        yield f"[{i}]" if operator.arity is Arity.MANY else "", value
