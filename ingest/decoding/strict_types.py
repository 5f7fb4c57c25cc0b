"""Items as strictly as the collector reads them.

The floor's types leave `properties` unread and whole numbers unbounded. What is accepted is stored
for good, so here a property tree is read to its leaves: natively, by a type that is unrolled to the
depth that is allowed. A name in its other spelling (`spelling.py`) is a field that no value fits,
so that an item with one is noticed without a line of Python for all the others.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.field_aliases import spellings
from ingest.decoding.limits import DEPTH, KEY, PROPERTIES
from schemas.items import Item

INT64 = 2**63

Whole = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]
Fraction = Annotated[float, Meta(ge=-float(INT64), le=float(INT64))]
PropertyName = Annotated[str, Meta(max_length=KEY)]

Leaf = str | Whole | float | bool | None


def _objects(depth: int) -> Any:
    """Objects in which at most `depth` arrays and objects nest, themselves included."""
    below = _values(depth - 1)
    return dict[PropertyName, below]  # type: ignore[valid-type]  # types are values here


def _values(depth: int) -> Any:
    if depth == 0:
        return Leaf
    below = _values(depth - 1)
    return Leaf | list[below] | _objects(depth)  # type: ignore[valid-type]


Properties: Any = Annotated[_objects(DEPTH), Meta(max_length=PROPERTIES)]

OVERRIDES: dict[str, Any] = {
    "timestamp": Whole | Fraction | str | None,
    "properties": Properties | None,
    "traits": Properties | None,
}


Nothing: Any = Annotated[str, Meta(min_length=1, max_length=0)]
"""What no value is."""


def strict(item: type[Item]) -> type[Item]:
    """The same item with its open fields bounded, and with its wire names only."""
    known = item.__struct_fields__
    fields = [(name, type_, None) for name, type_ in OVERRIDES.items() if name in known]
    fields += [
        (f"spelled_{index}", Nothing, msgspec.field(name=name, default=None))
        for index, name in enumerate(spellings(item))
    ]
    made = msgspec.defstruct(
        item.__name__, fields, bases=(item,), rename="camel", kw_only=True, gc=False
    )
    assert issubclass(made, item)  # noqa: S101 - for the type checker
    return made
