"""Kind: the declaration of one kind of item."""

from collections.abc import Mapping

from msgspec import Struct

from schemas.items import Item
from schemas.tables.column import Table


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of item, from the route that accepts it to the table that queries read."""

    name: str
    """`type` in the collector's response."""
    description: str
    """What its table holds, as custom queries list it."""
    path: str = ""
    """Route of the collector; empty when trackers do not send it."""
    item: type[Item]
    topic: str
    table: Table
    batch_only: bool = False
    """Whether the body must be an array."""
    tracker_type: str = ""
    """`type` in requests of mixed items, if such items have the fields of `item`.

    `ingest/decoding/tracker_formats.py` has the formats that are converted.
    """
    examples: Mapping[str, object] = {}
    """Example bodies by title, for OpenAPI; tests send each."""

    def __hash__(self) -> int:
        return hash(self.name)  # examples have no hash
