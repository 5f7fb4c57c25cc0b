"""Strict msgspec types of the items: bounded numbers, bounded nesting, no unknown aliases.

The types of `schemas.items` leave `properties` as raw JSON and integers unbounded. What the
collector accepts is stored for good, so here `properties` is a type unrolled to the maximum depth
and validated natively by msgspec. A field alias is declared as a field that accepts no value:
decoding an item with one fails, and only such items take the slower path that renames fields.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ingest.decoding.field_aliases import aliases_of
from ingest.decoding.limits import MAX_DEPTH, MAX_KEY_LENGTH, MAX_PROPERTIES
from schemas.items import Item, object_fields
from schemas.tables.vitals import Vital

INT64 = 2**63

BoundedInt = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]
BoundedFloat = Annotated[float, Meta(ge=-float(INT64), le=float(INT64))]
PropertyName = Annotated[str, Meta(max_length=MAX_KEY_LENGTH)]

ScalarValue = str | BoundedInt | float | bool | None


def _object_type(depth: int) -> Any:
    """The type of objects nested at most `depth` deep, themselves included."""
    below = _value_type(depth - 1)
    return dict[PropertyName, below]  # type: ignore[valid-type]  # types are values here


def _value_type(depth: int) -> Any:
    if depth == 0:
        return ScalarValue
    below = _value_type(depth - 1)
    return ScalarValue | list[below] | _object_type(depth)  # type: ignore[valid-type]


Properties: Any = Annotated[_object_type(MAX_DEPTH), Meta(max_length=MAX_PROPERTIES)]

Timestamp: Any = BoundedInt | BoundedFloat | str | None

NARROWER_FIELDS: dict[type[Item], list[tuple[str, Any]]] = {
    Vital: [("metric_value", Annotated[float, Meta(ge=0, le=1e12)])]
}
"""Fields with narrower bounds than in the stream, which stores what earlier collectors accepted."""

Impossible: Any = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type that no value fits."""


def strict_type(item: type[Item]) -> type[Item]:
    """The item type with bounded numbers and nesting, and without aliases.

    It ignores unknown members.
    """
    aliases = [
        (f"alias_{index}", Impossible, msgspec.field(name=name, default=None))
        for index, name in enumerate(aliases_of(item))
    ]
    return _struct(item, aliases, forbid_unknown_fields=False)


def known_members_type(item: type[Item]) -> type[Item]:
    """The same for items without aliases and unknown members: decoding others fails.

    It has half as many fields, so decoding takes less time.
    """
    return _struct(item, [], forbid_unknown_fields=True)


def _struct(item: type[Item], aliases: list[Any], forbid_unknown_fields: bool) -> type[Item]:
    overrides: list[Any] = [("timestamp", Timestamp, None), ("sent_at", Timestamp, None)]
    overrides += [(name, Properties | None, None) for name in object_fields(item)]
    overrides += NARROWER_FIELDS.get(item, [])
    struct = msgspec.defstruct(
        item.__name__,
        overrides + aliases,
        bases=(item,),
        rename="camel",
        kw_only=True,
        gc=False,
        forbid_unknown_fields=forbid_unknown_fields,
    )
    assert issubclass(struct, item)  # noqa: S101 - for the type checker
    return struct
