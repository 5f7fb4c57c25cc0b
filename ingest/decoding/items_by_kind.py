"""A request's items of any shape, sorted by the kind that each becomes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.decoder import REFUSALS, Accepted, Decoder, Rejected, as_array, oversized
from ingest.decoding.error_messages import in_words
from ingest.decoding.field_aliases import Fields, names_sent, respelled, spellings, written
from ingest.decoding.limits import ITEM_BYTES
from ingest.decoding.tracker_formats import Misshapen, Shape, laid_open, said
from schemas.errors import Malformed
from schemas.items import Item
from schemas.kinds import KINDS, Kind

DECODERS: Mapping[str, Decoder] = {kind.name: Decoder(kind) for kind in KINDS if kind.path}

ShapeOf = Callable[[Fields], Shape]

_fields = msgspec.json.Decoder(Fields)


class Told(Struct, frozen=True):
    """What one item of a request says of itself."""

    type: str | None = None
    event_id: str | None = None
    kind: str | None = None
    """Name of the kind that it becomes."""


class Share(Struct):
    """The good items of one kind."""

    kind: Kind
    items: list[Item] = []
    texts: list[bytes] = []
    places: list[int] = []

    @property
    def size(self) -> int:
        """Bytes of all items."""
        return sum(map(len, self.texts))

    @property
    def accepted(self) -> Accepted:
        """As if a request had held them alone."""
        return Accepted(self.items, as_array(self.texts), self.places)


class Sorted(Struct):
    """A request, taken apart."""

    told: list[Told]
    """Of each item, in the order of the request."""
    shares: dict[str, Share]
    """By the name of the kind."""
    rejected: dict[int, Rejected]
    """By place in the request."""

    @property
    def first(self) -> Item | None:
        """The first good item."""
        firsts = [(share.places[0], share.items[0]) for share in self.shares.values()]
        return min(firsts, key=lambda pair: pair[0])[1] if firsts else None


def sort(items: Sequence[Raw | Fields], shape_of: ShapeOf) -> Sorted:
    """Sort the items of a request; each may be JSON or members that were taken apart already."""
    found = Sorted([], {}, {})
    for index, item in enumerate(items):
        if (
            isinstance(item, Raw) and memoryview(item).nbytes > ITEM_BYTES
        ):  # before its members cost time
            found.told.append(Told())
            found.rejected[index] = oversized(index)
            continue
        try:
            fields = laid_open(item if isinstance(item, dict) else _fields.decode(item))
            shape = shape_of(fields)
        except (Misshapen, *REFUSALS) as bad:
            found.told.append(Told())
            found.rejected[index] = _refused(index, bad)
            continue
        named = respelled(fields, spellings(shape.kind.item))
        found.told.append(Told(shape.type, said(named, "eventId"), shape.kind.name))
        _add(found, index, fields, named, shape)
    return found


def _add(found: Sorted, index: int, sent: Fields, fields: Fields, shape: Shape) -> None:
    """Add what becomes of one item: all of it, or nothing when a part of it is not good."""
    try:
        parts = shape.made(fields)
    except Misshapen as bad:
        found.rejected[index] = _refused(index, bad)
        return
    made: list[Item] = []
    texts = [written(part) for part in parts]
    for part, text in zip(parts, texts, strict=True):
        names = partial(names_sent, sent, part)
        outcome = DECODERS[shape.kind.name].judge(index, text, names)
        if isinstance(outcome, Rejected):
            found.rejected[index] = outcome
            return
        made.append(outcome)
    share = found.shares.setdefault(shape.kind.name, Share(shape.kind))
    share.items += made
    share.texts += texts
    share.places += [index] * len(made)


def _refused(index: int, bad: Exception) -> Rejected:
    said = str(bad) if isinstance(bad, Misshapen) else in_words(bad)
    return Rejected(index, Malformed.code, said)
