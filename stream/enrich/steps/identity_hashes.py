"""Visitor, session and deduplication hashes: signed numbers of 63 bits.

Where the tracker names no visitor, the collector does: a keyed hash for one day. The deduplication
hash of an item comes from its `eventId`, else from the request's `Idempotency-Key` and the item's
index in its envelope. Item kind, subject and whether an API key was sent go into it too: an id
that anybody can send from a page must not make a server's item a duplicate. Of imported items it
is the import instead of the subject, and those with a line have no hash: the line identifies them.
"""

from array import array
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from schemas.envelope import Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import digests, optional_hash63, owner_hash
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import constant_column, distinct
from stream.rows.row_batch import Column, RowBatch

Owner = tuple[str, str, bool]
"""Kind, import or subject, and whether an API key was sent: event ids are unique within these."""

REQUEST_PERSON = b"request"
"""Separates hashes of requests from hashes of event ids."""


@enrichment_step(reads=columns("anonymous_id", "session_id"))
def put_identity_hashes(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Visitor and session as 63-bit hashes; the collector's visitor when the item names none; the
    deduplication hash.
    """
    if rows.has_column("visitor_made"):
        _put_visitor(rows)
    for column, field in (("visitor_hash", "anonymous_id"), ("session_hash", "session_id")):
        if rows.has_column(column):
            rows.columns[column] = distinct(rows.columns[field]).mapped(_hashes.__getitem__)
    if rows.has_column("session_made"):
        rows.columns["session_made"] = constant_column(False, len(rows))
    if rows.has_column("event_hash"):
        rows.columns["event_hash"] = _event_hashes(rows)


_hashes = GenerationalCache(optional_hash63)
_owners: GenerationalCache[Owner, int] = GenerationalCache(lambda owner: owner_hash(*owner))


def _put_visitor(rows: RowBatch) -> None:
    """The visitor of items that name none, where the collector knows one."""
    sent: Column = rows.columns["anonymous_id"]
    is_derived: Column = constant_column(False, len(rows))
    if None in distinct(sent).values:
        visitors = rows.per_envelope(lambda envelope: envelope.anonymous_id or None)
        is_derived = [
            own is None and visitor is not None for own, visitor in zip(sent, visitors, strict=True)
        ]
        rows.columns["anonymous_id"] = [
            visitor if own is None else own for own, visitor in zip(sent, visitors, strict=True)
        ]
    rows.columns["visitor_made"] = is_derived


def _event_hashes(rows: RowBatch) -> Column:
    ids = rows.item_field("event_id")
    if "line" in rows.item_fields:
        lines = rows.item_field("line")
        ids = [i if line is None else None for i, line in zip(ids, lines, strict=True)]
    indexes = [index for index, event_id in enumerate(ids) if event_id]
    event_ids = ids if len(indexes) == len(ids) else [ids[index] for index in indexes]
    found = digests(event_ids)
    if of_requests := list(_request_hashes(rows, ids)):
        both = sorted([*zip(indexes, found, strict=True), *of_requests])
        indexes, found = [index for index, _ in both], [digest for _, digest in both]
    if not indexes:
        return [None] * len(rows)
    return _scatter(indexes, _owned_hashes(rows, indexes, found), len(rows))


def _owned_hashes(rows: RowBatch, indexes: list[int], found: list[bytes]) -> "array[int]":
    """The hashes of items, combined with the hash of their owner."""
    kind = rows.kind.name
    owners = rows.per_envelope(
        lambda sent: _owners[kind, sent.import_id or sent.subject_id, sent.trusted]
    )
    owner_hashes = np.array(owners.values, np.uint64)[owners.numbers]
    if len(indexes) < len(owners):
        owner_hashes = owner_hashes[indexes]
    hashes = np.frombuffer(b"".join(found), ">u8") >> np.uint64(1)
    return array("q", (hashes ^ owner_hashes).astype(np.int64).tobytes())


def _scatter(indexes: list[int], hashes: "array[int]", count: int) -> Column:
    """A column with the hashes at these row indexes and None elsewhere."""
    if len(indexes) == count:
        return hashes
    column: list[int | None] = [None] * count
    for index, value in zip(indexes, hashes, strict=True):
        column[index] = value
    return column


def _request_hashes(rows: RowBatch, ids: Column) -> Iterator[tuple[int, bytes]]:
    """Index and digest of rows with an `Idempotency-Key` and without an `eventId`."""
    for index, position in rows.envelope_indexes.items():
        if not ids[index]:
            yield index, _request_digest(rows.envelopes[index], position)


def _request_digest(envelope: Envelope, position: int) -> bytes:
    text = f"{position}\0{envelope.idempotency_key}".encode()
    return blake2b(text, digest_size=8, person=REQUEST_PERSON).digest()
