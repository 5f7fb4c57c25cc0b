"""One term of `orderBy`."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

FieldName = Annotated[str, Meta(max_length=256)]


class OrderTerm(Struct, frozen=True, forbid_unknown_fields=True):
    """A field of the result, and the direction."""

    field: FieldName
    direction: Literal["asc", "desc"] = "desc"
