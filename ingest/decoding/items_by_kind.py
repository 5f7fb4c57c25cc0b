"""Groups the items of a mixed request by kind, and decodes each."""

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
from ingest.decoding.ignored_members import MAX_LISTED_ITEMS, IgnoredMembers, ignored_members
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
    """Type, event id and kind of one item of a request."""

    type: str | None = None
    event_id: str | None = None
    kind: str | None = None
    """Name of its kind."""


class KindItems(Struct):
    """The accepted items of one kind."""

    kind: Kind
    items: list[Item] = []
    raw_items: list[bytes] = []
    indexes: list[int] = []
    shortened: list[int] = []
    """Indexes of the items with a time on the page that was cut to a day."""

    @property
    def size_bytes(self) -> int:
        """Size of all items in bytes."""
        return sum(map(len, self.raw_items))

    @property
    def accepted(self) -> AcceptedItems:
        """The items as the decoder of a single kind returns them."""
        return AcceptedItems(
            self.items,
            join_items(self.raw_items),
            self.indexes,
            shortened=frozenset(self.shortened),
        )


class ItemsByKind(Struct):
    """The items of a mixed request, grouped and decoded."""

    summaries: list[ItemSummary]
    """One per item, in the order of the request."""
    by_kind: dict[str, KindItems]
    """By name of the kind."""
    rejected: dict[int, RejectedItem]
    """By index in the request."""
    ignored: list[IgnoredMembers] = []
    """Members of accepted items that are not stored, of the first items that have any."""

    @property
    def first_item(self) -> Item | None:
        """The first accepted item."""
        firsts = [
            (kind_items.indexes[0], kind_items.items[0]) for kind_items in self.by_kind.values()
        ]
        return min(firsts, key=lambda pair: pair[0])[1] if firsts else None


def group_by_kind(items: Sequence[Raw | RawFields], format_of: FormatOf) -> ItemsByKind:
    """Group and decode the items of a request, each given as JSON or as raw fields."""
    grouped = ItemsByKind([], {}, {})
    for index, item in enumerate(items):
        # Before decoding, which would cost time in proportion to the size.
        if isinstance(item, Raw) and memoryview(item).nbytes > MAX_ITEM_BYTES:
            grouped.summaries.append(ItemSummary())
            grouped.rejected[index] = oversized_item(index)
            continue
        try:
            fields = flatten_payload(
                item if isinstance(item, dict) else _fields_decoder.decode(item)
            )
            tracker_format = format_of(fields)
        except (InvalidItem, *DECODE_ERRORS) as error:
            grouped.summaries.append(ItemSummary())
            text = b"" if isinstance(item, dict) else bytes(item)
            grouped.rejected[index] = _rejected_item(index, error, text)
            continue
        fields_by_wire_name = with_wire_names(fields, aliases_of(tracker_format.kind.item))
        grouped.summaries.append(
            ItemSummary(
                tracker_format.type,
                string_field(fields_by_wire_name, "eventId"),
                tracker_format.kind.name,
            )
        )
        _add(grouped, index, fields, fields_by_wire_name, tracker_format)
    return grouped


def _add(
    grouped: ItemsByKind,
    index: int,
    sent: RawFields,
    fields: RawFields,
    tracker_format: TrackerFormat,
) -> None:
    """Add the items that one sent item becomes, or none of them if one is invalid."""
    try:
        parts = tracker_format.to_items(fields)
    except InvalidItem as error:
        grouped.rejected[index] = _rejected_item(index, error)
        return
    items: list[Item] = []
    texts: list[bytes] = []
    is_shortened = False
    for part in parts:
        names, sent_text = partial(sent_names, sent, part), encode_fields(part)
        outcome, text = DECODERS[tracker_format.kind.name].decode_item(index, sent_text, names)
        if isinstance(outcome, RejectedItem):
            grouped.rejected[index] = outcome
            return
        items.append(outcome)
        texts.append(text)
        is_shortened = is_shortened or text is not sent_text
    kind_items = grouped.by_kind.setdefault(
        tracker_format.kind.name, KindItems(tracker_format.kind)
    )
    kind_items.items += items
    kind_items.raw_items += texts
    kind_items.indexes += [index] * len(items)
    if is_shortened:
        kind_items.shortened.append(index)
    if len(grouped.ignored) < MAX_LISTED_ITEMS and (
        ignored := ignored_members(index, tracker_format.kind, sent, tracker_format.members)
    ):
        grouped.ignored.append(ignored)


def _rejected_item(index: int, error: Exception, text: bytes = b"") -> RejectedItem:
    is_invalid = isinstance(error, InvalidItem)
    message = str(error) if is_invalid else error_message(error, text=text)
    return RejectedItem(index, Malformed.code, message)
