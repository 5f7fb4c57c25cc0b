"""Decodes and validates a JSON body into accepted and rejected items.

A valid body is decoded in one pass and its bytes are published unchanged. Only a body that is
invalid or unusually deep or large is decoded item by item; then field aliases are replaced by wire
names. Unknown members are found because decoding fails on the first one; only then the body is
decoded again, and its members are compared.
"""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.error_messages import error_message
from ingest.decoding.field_aliases import (
    NO_RENAMES,
    SentNames,
    aliases_of,
    sent_names_in_json,
    with_short_durations,
    with_wire_names_json,
)
from ingest.decoding.ignored_members import IgnoredMembers, ignored_in_items
from ingest.decoding.limits import MAX_BRACKETS, MAX_ITEM_BYTES, MAX_ITEMS
from ingest.decoding.malformed_arrays import split_malformed
from ingest.decoding.strict_types import known_members_type, strict_type
from schemas.errors import Malformed, NoneAccepted, PayloadTooLarge
from schemas.event_times import instant_ms
from schemas.items import Item, duration_fields
from schemas.kinds import Kind

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
JSON_WHITESPACE = b" \t\n\r"
UNKNOWN_MEMBER = "Object contains unknown field"
"""How msgspec's message about an unknown member begins."""

_raws = msgspec.json.Decoder(list[Raw])
_raw = msgspec.json.Decoder(Raw)


class RejectedItem(Struct, frozen=True):
    """An item that was not accepted, by its index in the request."""

    index: int
    code: str
    message: str


class AcceptedItems(Struct, frozen=True):
    """The valid items of a body, and the rejected ones."""

    items: Sequence[Item]
    array: bytes
    """The same items as a JSON array, with their original bytes unless fields were renamed."""
    indexes: Sequence[int]
    """Index of each item in the request."""
    rejected: Sequence[RejectedItem] = ()
    ignored: Sequence[IgnoredMembers] = ()
    shortened: frozenset[int] = frozenset()
    """Indexes in the request of the items with a time on the page that was cut to a day."""

    def raw_items(self) -> list[Raw]:
        """The bytes of each item in `array`."""
        return _raws.decode(self.array)


class Decoder:
    """Decodes bodies of one kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._aliases = aliases_of(kind.item)
        item, known_item = strict_type(kind.item), known_members_type(kind.item)
        self._known_list_decoder = msgspec.json.Decoder(list[known_item])  # type: ignore[valid-type]  # built above
        self._list_decoder = msgspec.json.Decoder(list[item])  # type: ignore[valid-type]  # built above
        self._item_decoder = msgspec.json.Decoder(item)

    def decode(self, body: bytes) -> AcceptedItems:
        """The accepted items; Malformed for an invalid body, NoneAccepted if no item is valid."""
        array, single = self._array(body)
        has_unknown = False
        try:
            try:
                items = self._known_list_decoder.decode(array)
            except msgspec.ValidationError as error:
                has_unknown = str(error).startswith(UNKNOWN_MEMBER)
                if not has_unknown:
                    raise
                items = self._list_decoder.decode(array)
        except DECODE_ERRORS:
            return self._one_by_one(array, single)
        if single and len(items) != 1:
            raise Malformed("The body is not valid JSON")
        check_item_count(len(items))
        if _needs_item_checks(array, items):
            return self._one_by_one(array, single)
        if not has_unknown:
            return AcceptedItems(items, array, range(len(items)))
        ignored = ignored_in_items(self._kind, dict(enumerate(split_items(array))))
        return AcceptedItems(items, array, range(len(items)), ignored=ignored)

    def decode_plain(self, body: bytes) -> tuple[Sequence[Item], bytes] | None:
        """The items and the array of a body without anything to reject, rename or ignore.

        None for every other body, which is left to `decode`. Whether their timestamps are valid is
        left to the caller.
        """
        first = body[:1]
        if first not in (b"[", b"{"):
            body = body.strip(JSON_WHITESPACE)
            first = body[:1]
        if first == b"{" and not self._kind.batch_only:
            array, most = b"[%b]" % body, 1
        elif first == b"[":
            array, most = body, MAX_ITEMS
        else:
            return None
        try:
            items = self._known_list_decoder.decode(array)
        except DECODE_ERRORS:
            return None
        if not 1 <= len(items) <= most or _is_unusual(array):
            return None
        return items, array

    def _array(self, body: bytes) -> tuple[bytes, bool]:
        """The body as a JSON array, and whether it was a single item."""
        first = body[:1]
        if first not in (b"[", b"{"):
            body = body.strip(JSON_WHITESPACE)
            first = body[:1]
        if first == b"[":
            return body, False
        if first == b"{" and not self._kind.batch_only:
            return b"[" + body + b"]", True
        allowed = "an array of items" if self._kind.batch_only else "an item or an array of items"
        raise Malformed(f"The body must be JSON in UTF-8: {allowed}")

    def _one_by_one(self, array: bytes, single: bool) -> AcceptedItems:
        raw_items = split_items(array, single)
        texts = [self._with_wire_names(bytes(raw)) for raw in raw_items]
        items, indexes, rejected, shortened = [], [], [], []
        for index, text in enumerate(texts):
            sent_names = partial(self._sent_names, raw_items[index])
            outcome, texts[index] = self.decode_item(index, text, sent_names)
            if isinstance(outcome, RejectedItem):
                rejected.append(outcome)
                continue
            items.append(outcome)
            indexes.append(index)
            if texts[index] is not text:
                shortened.append(index)
        if not items:
            raise none_accepted_error(rejected)
        ignored = ignored_in_items(self._kind, {index: raw_items[index] for index in indexes})
        array = join_items([texts[index] for index in indexes])
        return AcceptedItems(items, array, indexes, rejected, ignored, frozenset(shortened))

    def _with_wire_names(self, text: bytes) -> bytes:
        return text if len(text) > MAX_ITEM_BYTES else with_wire_names_json(text, self._aliases)

    def _sent_names(self, raw: Raw) -> SentNames:
        return sent_names_in_json(bytes(raw), self._aliases)

    def decode_item(
        self, index: int, text: bytes, sent_names: Callable[[], SentNames] = lambda: NO_RENAMES
    ) -> tuple[Item | RejectedItem, bytes]:
        """The item or why it is rejected, and its text, with times on the page cut to a day.

        `sent_names` gives the field names for the message.
        """
        outcome = self._decode_item(index, text, sent_names)
        if isinstance(outcome, RejectedItem) and len(text) <= MAX_ITEM_BYTES:
            shorter = with_short_durations(text, duration_fields(self._kind.item))
            if shorter is not text:
                return self._decode_item(index, shorter, sent_names), shorter
        return outcome, text

    def _decode_item(
        self, index: int, text: bytes, sent_names: Callable[[], SentNames]
    ) -> Item | RejectedItem:
        if len(text) > MAX_ITEM_BYTES:
            return oversized_item(index)
        if _bracket_count(text) > MAX_BRACKETS:
            return RejectedItem(
                index, Malformed.code, "The item has too many arrays and objects in it"
            )
        try:
            text.decode()
            item = self._item_decoder.decode(text)
        except DECODE_ERRORS as error:
            # Before the fields: aliases of an item that is no JSON have not been replaced.
            reason = syntax_error(text) or error
            return RejectedItem(
                index, Malformed.code, error_message(reason, self._kind.item, sent_names(), text)
            )
        if name := _invalid_time(item):
            name = sent_names().get(name, name)
            return RejectedItem(
                index, Malformed.code, f"'{name}' must be Unix milliseconds or an ISO 8601 time"
            )
        return item


def syntax_error(text: bytes) -> Exception | None:
    """Why a text is not valid JSON; None if it is."""
    try:
        _raw.decode(text)
    except DECODE_ERRORS as error:
        return error
    return None


def oversized_item(index: int) -> RejectedItem:
    """The reject of an item of more than MAX_ITEM_BYTES."""
    return RejectedItem(
        index, PayloadTooLarge.code, f"An item may have at most {MAX_ITEM_BYTES:,} bytes"
    )


def none_accepted_error(rejected: Sequence[RejectedItem]) -> NoneAccepted:
    """The error of a request without a valid item."""
    return NoneAccepted(f"No item was accepted. {rejected[0].message}", rejected=list(rejected))


def check_item_count(count: int) -> None:
    """Malformed if a request has too many items, or none."""
    if not 1 <= count <= MAX_ITEMS:
        raise Malformed(f"A request may have 1 to {MAX_ITEMS} items; this one has {count:,}")


def split_items(array: bytes, single: bool = False) -> list[Raw]:
    """The raw items of a JSON array; Malformed if it is no array or has too many.

    An item that is no JSON is among them, as decoding it will tell.
    """
    try:
        raw_items = _raws.decode(array)
    except DECODE_ERRORS as error:
        texts = [] if single else split_malformed(array)
        if not texts:
            reason = error_message(error).replace("The item", "The body")
            raise Malformed(reason) from None
        raw_items = [Raw(text) for text in texts]
    if single and len(raw_items) != 1:
        raise Malformed("The body is not valid JSON")
    check_item_count(len(raw_items))
    return raw_items


def join_items(texts: Sequence[bytes]) -> bytes:
    """Raw items as a JSON array."""
    return b"[" + b",".join(texts) + b"]"


def _needs_item_checks(array: bytes, items: Sequence[Item]) -> bool:
    """Whether an item may break a rule that decoding in one pass does not check."""
    return _is_unusual(array) or bool(
        [
            item
            for item in items
            if (isinstance(item.timestamp, str) or isinstance(item.sent_at, str))
            and _invalid_time(item)
        ]
    )


def _is_unusual(array: bytes) -> bool:
    """Whether it is large, deep or not in UTF-8, which decoding in one pass does not check."""
    return (
        len(array) > MAX_ITEM_BYTES
        or _bracket_count(array) > MAX_BRACKETS
        or not (array.isascii() or _is_utf8(array))
    )


def _bracket_count(text: bytes) -> int:
    # To find that no further array follows takes a tenth of the time of counting.
    arrays = text.count(b"[") if text.find(b"[", 1) > 0 else text.startswith(b"[")
    return arrays + text.count(b"{")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _invalid_time(item: Item) -> str | None:
    """The name of a time that is a string and no valid instant; None when there is none."""
    for name, time in (("timestamp", item.timestamp), ("sentAt", item.sent_at)):
        if isinstance(time, str) and instant_ms(time) is None:
            return name
    return None
