"""NDJSON bodies: one item per line, invalid lines rejected one by one."""

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
from ingest.decoding.ignored_members import IgnoredMembers
from schemas.errors import Malformed, NoneAccepted

INVALID_JSON_LINE = "The line is not valid JSON"


class ParsedLines(Struct, frozen=True):
    """The lines that are valid JSON, and the rejected ones."""

    texts: Sequence[bytes]
    indexes: Sequence[int]
    """Line number of each text, from 0, without empty lines."""
    rejected: Sequence[RejectedItem]


def decode_body(decoder: Decoder, body: bytes) -> AcceptedItems:
    """The accepted items of a JSON array or of NDJSON; indexes count items or non-empty lines."""
    if body.lstrip()[:1] != b"{":
        return decoder.decode(body)
    lines = split_lines(body)
    if not lines.texts:
        raise none_accepted_error(lines.rejected)
    return _restore_indexes(decoder, lines)


def split_lines(body: bytes) -> ParsedLines:
    """Parse each line by itself: an invalid line rejects no other. Malformed if too many."""
    lines = [line for line in body.splitlines() if line.strip()]
    check_item_count(len(lines))
    texts, indexes, rejected = [], [], []
    for index, line in enumerate(lines):
        try:
            msgspec.json.decode(line, type=Raw)
        except DECODE_ERRORS:
            rejected.append(RejectedItem(index, Malformed.code, INVALID_JSON_LINE))
        else:
            texts.append(line)
            indexes.append(index)
    return ParsedLines(texts, indexes, rejected)


def _restore_indexes(decoder: Decoder, lines: ParsedLines) -> AcceptedItems:
    try:
        accepted = decoder.decode(b"[" + b",".join(lines.texts) + b"]")
    except NoneAccepted as error:
        rejected: Sequence[RejectedItem] = error.details["rejected"]
        raise none_accepted_error(_merge_rejects(rejected, lines)) from None
    return AcceptedItems(
        accepted.items,
        accepted.array,
        [lines.indexes[index] for index in accepted.indexes],
        _merge_rejects(accepted.rejected, lines),
        [
            IgnoredMembers(lines.indexes[ignored.index], ignored.names, ignored.message)
            for ignored in accepted.ignored
        ],
        frozenset(lines.indexes[index] for index in accepted.shortened),
    )


def _merge_rejects(rejected: Sequence[RejectedItem], lines: ParsedLines) -> list[RejectedItem]:
    renumbered = [RejectedItem(lines.indexes[r.index], r.code, r.message) for r in rejected]
    return sorted([*renumbered, *lines.rejected], key=lambda reject: reject.index)
