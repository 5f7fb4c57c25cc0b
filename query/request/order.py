"""Order: what rows are sorted by, as it is sent."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Name = Annotated[str, Meta(max_length=256)]


class Order(Struct, frozen=True):
    """One term: a column of the answer."""

    field: Name
    direction: Literal["asc", "desc"] = "desc"
