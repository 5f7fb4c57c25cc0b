"""Order: what rows are sorted by, as it is sent."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

FieldName = Annotated[str, Meta(max_length=256)]


class OrderTerm(Struct, frozen=True):
    """One term: a column of the answer."""

    field: FieldName
    direction: Literal["asc", "desc"] = "desc"
