"""A request's items of any shape, sorted by the kind that each becomes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.decoder import (
    DECODE_ERRORS,
    AcceptedItems,
    Decoder,
    RejectedItem,
    join_items,
    oversized_item,
)
from ingest.decoding.error_messages import error_message
from ingest.decoding.field_aliases import (
    RawFields,
    aliases_of,
    encode_fields,
    sent_names,
    with_wire_names,
)
from ingest.decoding.limits import MAX_ITEM_BYTES
from ingest.decoding.tracker_formats import (
    InvalidItem,
    TrackerFormat,
    flatten_payload,
    string_field,
)
from schemas.errors import Malformed
from schemas.items import Item
from schemas.kinds import KINDS, Kind

DECODERS: Mapping[str, Decoder] = {kind.name: Decoder(kind) for kind in KINDS if kind.path}

FormatOf = Callable[[RawFields], TrackerFormat]

_fields_decoder = msgspec.json.Decoder(RawFields)


class ItemSummary(Struct, frozen=True):
    """What one item of a request says of itself."""

    type: str | None = None
    event_id: str | None = None
    kind: str | None = None
    """Name of the kind that it becomes."""


class KindItems(Struct):
    """The good items of one kind."""

    kind: Kind
    items: list[Item] = []
    raw_items: list[bytes] = []
    indexes: list[int] = []

    @property
    def size_bytes(self) -> int:
        """Bytes of all items."""
        return sum(map(len, self.raw_items))

    @property
    def accepted(self) -> AcceptedItems:
        """As if a request had held them alone."""
        return AcceptedItems(self.items, join_items(self.raw_items), self.indexes)


class ItemsByKind(Struct):
    """A request, taken apart."""

    summaries: list[ItemSummary]
    """Of each item, in the order of the request."""
    by_kind: dict[str, KindItems]
    """By the name of the kind."""
    rejected: dict[int, RejectedItem]
    """By place in the request."""

    @property
    def first_item(self) -> Item | None:
        """The first good item."""
        firsts = [(share.indexes[0], share.items[0]) for share in self.by_kind.values()]
        return min(firsts, key=lambda pair: pair[0])[1] if firsts else None


def group_by_kind(items: Sequence[Raw | RawFields], shape_of: FormatOf) -> ItemsByKind:
    """Sort the items of a request; each may be JSON or members that were taken apart already."""
    found = ItemsByKind([], {}, {})
    for index, item in enumerate(items):
        if (
            isinstance(item, Raw) and memoryview(item).nbytes > MAX_ITEM_BYTES
        ):  # before its members cost time
            found.summaries.append(ItemSummary())
            found.rejected[index] = oversized_item(index)
            continue
        try:
            fields = flatten_payload(
                item if isinstance(item, dict) else _fields_decoder.decode(item)
            )
            shape = shape_of(fields)
        except (InvalidItem, *DECODE_ERRORS) as bad:
            found.summaries.append(ItemSummary())
            found.rejected[index] = _rejected_item(index, bad)
            continue
        named = with_wire_names(fields, aliases_of(shape.kind.item))
        found.summaries.append(
            ItemSummary(shape.type, string_field(named, "eventId"), shape.kind.name)
        )
        _add(found, index, fields, named, shape)
    return found


def _add(
    found: ItemsByKind, index: int, sent: RawFields, fields: RawFields, shape: TrackerFormat
) -> None:
    """Add what becomes of one item: all of it, or nothing when a part of it is not good."""
    try:
        parts = shape.to_items(fields)
    except InvalidItem as bad:
        found.rejected[index] = _rejected_item(index, bad)
        return
    made: list[Item] = []
    texts = [encode_fields(part) for part in parts]
    for part, text in zip(parts, texts, strict=True):
        names = partial(sent_names, sent, part)
        outcome = DECODERS[shape.kind.name].decode_item(index, text, names)
        if isinstance(outcome, RejectedItem):
            found.rejected[index] = outcome
            return
        made.append(outcome)
    share = found.by_kind.setdefault(shape.kind.name, KindItems(shape.kind))
    share.items += made
    share.raw_items += texts
    share.indexes += [index] * len(made)


def _rejected_item(index: int, bad: Exception) -> RejectedItem:
    said = str(bad) if isinstance(bad, InvalidItem) else error_message(bad)
    return RejectedItem(index, Malformed.code, said)
