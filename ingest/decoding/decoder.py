"""Bytes become good items and named rejects; hostile input ends here.

The usual body is decoded once, whole, and its bytes travel on as they came. Only when something in
it is wrong or suspicious is it taken apart, item by item.
"""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.error_messages import in_words
from ingest.decoding.field_aliases import SAME, Names, names_in_text, respelled_text, spellings
from ingest.decoding.limits import ITEM_BYTES, ITEMS, NESTING
from ingest.decoding.strict_types import strict
from schemas.errors import Malformed, NoneAccepted, TooLarge
from schemas.items import Item
from schemas.kinds import Kind
from schemas.runtime.clock import instant_ms

REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
SPACE = b" \t\n\r"

_raws = msgspec.json.Decoder(list[Raw])


class Rejected(Struct, frozen=True):
    """One item that was not taken, by its position in the request."""

    index: int
    code: str
    message: str


class Accepted(Struct, frozen=True):
    """What is good of a body."""

    items: Sequence[Item]
    array: bytes
    """The same items as a JSON array, as they came."""
    places: Sequence[int]
    """Where each item stood in the request."""
    rejected: Sequence[Rejected] = ()

    def raws(self) -> list[Raw]:
        """Each item's own bytes."""
        return _raws.decode(self.array)


class Decoder:
    """Decodes bodies of one kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._spellings = spellings(kind.item)
        item = strict(kind.item)
        self._all = msgspec.json.Decoder(list[item])  # type: ignore[valid-type]  # made above
        self._one = msgspec.json.Decoder(item)

    def decode(self, body: bytes) -> Accepted:
        """The good items; Malformed when it is no body at all, NoneAccepted when none is good."""
        array, single = self._array(body)
        try:
            items = self._all.decode(array)
        except REFUSALS:
            return self._one_by_one(array, single)
        if single and len(items) != 1:
            raise Malformed("The body is not valid JSON")
        check_count(len(items))
        if _suspicious(array, items):
            return self._one_by_one(array, single)
        return Accepted(items, array, range(len(items)))

    def _array(self, body: bytes) -> tuple[bytes, bool]:
        """The body as an array, and whether it was a single item."""
        first = body[:1]
        if first not in (b"[", b"{"):
            body = body.strip(SPACE)
            first = body[:1]
        if first == b"[":
            return body, False
        if first == b"{" and not self._kind.batch_only:
            return b"[" + body + b"]", True
        allowed = "an array of items" if self._kind.batch_only else "an item or an array of items"
        raise Malformed(f"The body must be JSON in UTF-8: {allowed}")

    def _one_by_one(self, array: bytes, single: bool) -> Accepted:
        raws = taken_apart(array, single)
        texts = [self._respelled(bytes(raw)) for raw in raws]
        items, places, rejected = [], [], []
        for index, text in enumerate(texts):
            outcome = self.judge(index, text, partial(self._names, raws[index]))
            if isinstance(outcome, Rejected):
                rejected.append(outcome)
            else:
                items.append(outcome)
                places.append(index)
        if not items:
            raise none_accepted(rejected)
        return Accepted(items, as_array([texts[place] for place in places]), places, rejected)

    def _respelled(self, text: bytes) -> bytes:
        return text if len(text) > ITEM_BYTES else respelled_text(text, self._spellings)

    def _names(self, raw: Raw) -> Names:
        return names_in_text(bytes(raw), self._spellings)

    def judge(
        self, index: int, text: bytes, sent: Callable[[], Names] = lambda: SAME
    ) -> Item | Rejected:
        """The item, or why it is not taken, in the names that were `sent`."""
        if len(text) > ITEM_BYTES:
            return oversized(index)
        if _brackets(text) > NESTING:
            return Rejected(index, Malformed.code, "The item has too many arrays and objects in it")
        try:
            text.decode()
            item = self._one.decode(text)
        except REFUSALS as error:
            return Rejected(index, Malformed.code, in_words(error, self._kind.item, sent()))
        if not _timely(item):
            return Rejected(
                index, Malformed.code, "'timestamp' must be Unix milliseconds or an ISO 8601 time"
            )
        return item


def oversized(index: int) -> Rejected:
    """What is said of an item of more than ITEM_BYTES, whatever is in it."""
    return Rejected(index, TooLarge.code, f"An item may have at most {ITEM_BYTES:,} bytes")


def none_accepted(rejected: Sequence[Rejected]) -> NoneAccepted:
    """The failure of a request of which nothing is left."""
    return NoneAccepted(f"No item was accepted. {rejected[0].message}", rejected=list(rejected))


def check_count(count: int) -> None:
    """Malformed when a request has too many items, or none."""
    if not 1 <= count <= ITEMS:
        raise Malformed(f"A request takes 1 to {ITEMS} items; this one has {count:,}")


def taken_apart(array: bytes, single: bool = False) -> list[Raw]:
    """The items of a body, not too many of them; Malformed when it is no array."""
    try:
        raws = _raws.decode(array)
    except REFUSALS as error:
        reason = in_words(error).replace("The item", "The body")
        raise Malformed(reason) from None
    if single and len(raws) != 1:
        raise Malformed("The body is not valid JSON")
    check_count(len(raws))
    return raws


def as_array(texts: Sequence[bytes]) -> bytes:
    """Items as a JSON array, each as it is."""
    return b"[" + b",".join(texts) + b"]"


def _suspicious(array: bytes, items: Sequence[Item]) -> bool:
    """Whether an item may break a rule that decoding all of them at once cannot see."""
    return bool(
        len(array) > ITEM_BYTES
        or _brackets(array) > NESTING
        or not (array.isascii() or _is_utf8(array))
        or [item for item in items if isinstance(item.timestamp, str) and not _timely(item)]
    )


def _brackets(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _timely(item: Item) -> bool:
    """Whether a timestamp in words is one."""
    if not isinstance(item.timestamp, str):
        return True
    try:
        instant_ms(item.timestamp)
    except ValueError:
        return False
    return True
