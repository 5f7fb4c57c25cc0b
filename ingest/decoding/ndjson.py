"""A body of lines with an item each (NDJSON) as the array that decoding takes."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.decoder import (
    REFUSALS,
    Accepted,
    Decoder,
    Rejected,
    check_count,
    none_accepted,
)
from schemas.errors import Malformed, NoneAccepted

NO_JSON = "The line is not valid JSON"


class Lines(Struct, frozen=True):
    """The lines that are JSON, and those that are not."""

    texts: Sequence[bytes]
    places: Sequence[int]
    """Which line each of them was, empty lines not counted."""
    rejected: Sequence[Rejected]


def decoded(decoder: Decoder, body: bytes) -> Accepted:
    """The good items of an array or of lines; places count items, or lines that are not empty."""
    if body.lstrip()[:1] != b"{":
        return decoder.decode(body)
    lines = taken_apart(body)
    if not lines.texts:
        raise none_accepted(lines.rejected)
    return _back_in_place(decoder, lines)


def taken_apart(body: bytes) -> Lines:
    """Each line by itself, so that a broken one breaks no other; Malformed when they are many."""
    lines = [line for line in body.splitlines() if line.strip()]
    check_count(len(lines))
    texts, places, rejected = [], [], []
    for place, line in enumerate(lines):
        try:
            msgspec.json.decode(line, type=Raw)
        except REFUSALS:
            rejected.append(Rejected(place, Malformed.code, NO_JSON))
        else:
            texts.append(line)
            places.append(place)
    return Lines(texts, places, rejected)


def _back_in_place(decoder: Decoder, lines: Lines) -> Accepted:
    try:
        accepted = decoder.decode(b"[" + b",".join(lines.texts) + b"]")
    except NoneAccepted as none:
        found: Sequence[Rejected] = none.more["rejected"]
        raise none_accepted(_merged(found, lines)) from None
    return Accepted(
        accepted.items,
        accepted.array,
        [lines.places[place] for place in accepted.places],
        _merged(accepted.rejected, lines),
    )


def _merged(found: Sequence[Rejected], lines: Lines) -> list[Rejected]:
    placed = [Rejected(lines.places[r.index], r.code, r.message) for r in found]
    return sorted([*placed, *lines.rejected], key=lambda rejected: rejected.index)
