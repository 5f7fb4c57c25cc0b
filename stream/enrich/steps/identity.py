"""Who did it, and by what a copy is known, as signed numbers of 63 bits.

Where the tracker names nobody, the visitor is who the collector says: a keyed hash for one day. An
item's own number comes from its `eventId`, else from the request's `Idempotency-Key` and the item's
place in it; in either case also from kind, subject and whether a key came with it, so that no two
of them share a number: what anybody may send from a page must not stand in for a server's items.
"""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from schemas.envelope import Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import hash63, optional_hash63
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Column, RowBatch

REQUEST_PERSON = b"request"
"""Sets numbers of requests apart from those of event ids."""


def put_identity(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    if rows.has_column("visitor_made"):
        _put_visitor(rows)
    for column, field in (("visitor_hash", "anonymous_id"), ("session_hash", "session_id")):
        if rows.has_column(column):
            rows.columns[column] = [_hashes[value] for value in rows.columns[field]]
    if rows.has_column("session_made"):
        rows.columns["session_made"] = [False] * len(rows)
    if rows.has_column("event_hash"):
        rows.columns["event_hash"] = _event_hashes(rows)


_hashes = GenerationalCache(optional_hash63)
_owners: GenerationalCache[str, int] = GenerationalCache(hash63)


def _put_visitor(rows: RowBatch) -> None:
    """The visitor of items that name none, where the collector knows one."""
    given: Column = rows.columns["anonymous_id"]
    made = [False] * len(rows)
    if None in given:
        names = rows.per_envelope(lambda envelope: envelope.visitor or None)
        made = [own is None and name is not None for own, name in zip(given, names, strict=True)]
        rows.columns["anonymous_id"] = [
            name if own is None else own for own, name in zip(given, names, strict=True)
        ]
    rows.columns["visitor_made"] = made


def _event_hashes(rows: RowBatch) -> Column:
    ids = rows.item_field("event_id")
    places = [index for index, event_id in enumerate(ids) if event_id]
    said = ids if len(places) == len(ids) else [ids[index] for index in places]
    digests = [blake2b(text, digest_size=8).digest() for text in map(str.encode, said)]
    if requested := list(_request_hashes(rows, ids)):
        both = sorted([*zip(places, digests, strict=True), *requested])
        places, digests = [index for index, _ in both], [digest for _, digest in both]
    if not places:
        return [None] * len(rows)
    return _scatter(places, _numbers(rows, places, digests), len(rows))


def _numbers(rows: RowBatch, places: list[int], digests: list[bytes]) -> list[int]:
    """The numbers of items, made their owner's."""
    kind = rows.kind.name
    owners = rows.per_envelope(lambda envelope: _owners[_owner(kind, envelope)])
    if len(places) < len(owners):
        owners = [owners[index] for index in places]
    numbers = np.frombuffer(b"".join(digests), ">u8") >> np.uint64(1)
    found: list[int] = (numbers ^ np.array(owners, np.uint64)).tolist()
    return found


def _owner(kind: str, envelope: Envelope) -> str:
    """Whose ids they are."""
    return f"{kind}\0{envelope.subject_id}" + ("\0key" if envelope.trusted else "")


def _scatter(places: list[int], numbers: list[int], count: int) -> Column:
    """The numbers at their places; nothing at the others."""
    if len(places) == count:
        return list(numbers)
    column: Column = [None] * count
    for index, own in zip(places, numbers, strict=True):
        column[index] = own
    return column


def _request_hashes(rows: RowBatch, ids: Column) -> Iterator[tuple[int, bytes]]:
    """Place and digest of the rows that have a request's key and no id of their own."""
    if not rows.first_seq:
        return
    for index, (envelope, seq) in enumerate(zip(rows.envelopes, rows.columns["seq"], strict=True)):
        if envelope.request_id and not ids[index]:
            yield index, _request_digest(envelope, seq - rows.first_seq[id(envelope)])


def _request_digest(envelope: Envelope, place: int) -> bytes:
    said = f"{place}\0{envelope.request_id}".encode()
    return blake2b(said, digest_size=8, person=REQUEST_PERSON).digest()
