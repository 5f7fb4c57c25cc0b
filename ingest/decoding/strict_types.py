"""Items as strictly as the collector reads them.

The floor's types leave `properties` unread and whole numbers unbounded. What is accepted is stored
for good, so here a property tree is read to its leaves: natively, by a type that is unrolled to the
depth that is allowed. A name in its other spelling (`spelling.py`) is a field that no value fits,
so that an item with one is noticed without a line of Python for all the others.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.field_aliases import aliases_of
from ingest.decoding.limits import MAX_DEPTH, MAX_KEY_LENGTH, MAX_PROPERTIES
from schemas.items import Item

INT64 = 2**63

BoundedInt = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]
BoundedFloat = Annotated[float, Meta(ge=-float(INT64), le=float(INT64))]
PropertyName = Annotated[str, Meta(max_length=MAX_KEY_LENGTH)]

ScalarValue = str | BoundedInt | float | bool | None


def _object_type(depth: int) -> Any:
    """Objects in which at most `depth` arrays and objects nest, themselves included."""
    below = _value_type(depth - 1)
    return dict[PropertyName, below]  # type: ignore[valid-type]  # types are values here


def _value_type(depth: int) -> Any:
    if depth == 0:
        return ScalarValue
    below = _value_type(depth - 1)
    return ScalarValue | list[below] | _object_type(depth)  # type: ignore[valid-type]


Properties: Any = Annotated[_object_type(MAX_DEPTH), Meta(max_length=MAX_PROPERTIES)]

OVERRIDES: dict[str, Any] = {
    "timestamp": BoundedInt | BoundedFloat | str | None,
    "properties": Properties | None,
    "traits": Properties | None,
}


NoValue: Any = Annotated[str, Meta(min_length=1, max_length=0)]
"""What no value is."""


def strict_type(item: type[Item]) -> type[Item]:
    """The same item with its open fields bounded, and with its wire names only."""
    known = item.__struct_fields__
    fields = [(name, type_, None) for name, type_ in OVERRIDES.items() if name in known]
    fields += [
        (f"spelled_{index}", NoValue, msgspec.field(name=name, default=None))
        for index, name in enumerate(aliases_of(item))
    ]
    made = msgspec.defstruct(
        item.__name__, fields, bases=(item,), rename="camel", kw_only=True, gc=False
    )
    assert issubclass(made, item)  # noqa: S101 - for the type checker
    return made
