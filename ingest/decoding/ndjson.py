"""A body of lines with an item each (NDJSON) as the array that decoding takes."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.decoder import (
    DECODE_ERRORS,
    AcceptedItems,
    Decoder,
    RejectedItem,
    check_item_count,
    none_accepted_error,
)
from schemas.errors import Malformed, NoneAccepted

INVALID_JSON_LINE = "The line is not valid JSON"


class ParsedLines(Struct, frozen=True):
    """The lines that are JSON, and those that are not."""

    texts: Sequence[bytes]
    indexes: Sequence[int]
    """Which line each of them was, empty lines not counted."""
    rejected: Sequence[RejectedItem]


def decode_body(decoder: Decoder, body: bytes) -> AcceptedItems:
    """The good items of an array or of lines; places count items, or lines that are not empty."""
    if body.lstrip()[:1] != b"{":
        return decoder.decode(body)
    lines = split_lines(body)
    if not lines.texts:
        raise none_accepted_error(lines.rejected)
    return _restore_indexes(decoder, lines)


def split_lines(body: bytes) -> ParsedLines:
    """Each line by itself, so that a broken one breaks no other; Malformed when they are many."""
    lines = [line for line in body.splitlines() if line.strip()]
    check_item_count(len(lines))
    texts, places, rejected = [], [], []
    for place, line in enumerate(lines):
        try:
            msgspec.json.decode(line, type=Raw)
        except DECODE_ERRORS:
            rejected.append(RejectedItem(place, Malformed.code, INVALID_JSON_LINE))
        else:
            texts.append(line)
            places.append(place)
    return ParsedLines(texts, places, rejected)


def _restore_indexes(decoder: Decoder, lines: ParsedLines) -> AcceptedItems:
    try:
        accepted = decoder.decode(b"[" + b",".join(lines.texts) + b"]")
    except NoneAccepted as none:
        found: Sequence[RejectedItem] = none.details["rejected"]
        raise none_accepted_error(_merge_rejects(found, lines)) from None
    return AcceptedItems(
        accepted.items,
        accepted.array,
        [lines.indexes[place] for place in accepted.indexes],
        _merge_rejects(accepted.rejected, lines),
    )


def _merge_rejects(found: Sequence[RejectedItem], lines: ParsedLines) -> list[RejectedItem]:
    placed = [RejectedItem(lines.indexes[r.index], r.code, r.message) for r in found]
    return sorted([*placed, *lines.rejected], key=lambda rejected: rejected.index)
