"""Results as JSON text within a limit of rows and bytes; a note says what was cut."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

META = ("timezone", "watermark", "lagSeconds", "partialBucket")


class TextLimit(Struct, frozen=True):
    """How much one result may have."""

    rows: int = 200
    bytes: int = 40_000


def rows_text(rows: Sequence[Any], meta: Mapping[str, Any], limit: TextLimit) -> str:
    """Rows with what the service says about them."""
    total = max(meta.get("totalRows") or 0, len(rows))
    kept = fitting_rows(rows, limit)
    result: dict[str, Any] = {"rows": kept, "total_rows": total}
    result |= {name: meta[name] for name in META if meta.get(name) is not None}
    if len(kept) < total:
        result["note"] = (
            f"{len(kept):,} of {total:,} rows are shown. Ask for the others with `page` and "
            "`limit`, or for fewer with filters, fewer dimensions or a coarser granularity."
        )
    return to_json(result)


def fitting_rows(rows: Sequence[Any], limit: TextLimit) -> list[Any]:
    """The first rows that fit."""
    kept: list[Any] = []
    size = 0
    for row in rows[: limit.rows]:
        size += len(msgspec.json.encode(row)) + 1
        if size > limit.bytes:
            break
        kept.append(row)
    return kept


def entries_text(name: str, entries: Sequence[Any], limit: TextLimit, **more: Any) -> str:
    """Entries of the catalogue; they are short, so only bytes count."""
    kept = fitting_rows(entries, TextLimit(len(entries), limit.bytes))
    if len(kept) < len(entries):
        more["note"] = f"{len(kept):,} of {len(entries):,} entries are shown; ask for one by name."
    return to_json({name: kept, **more})


def to_json(value: Any) -> str:
    """Compact JSON text."""
    return msgspec.json.encode(value).decode()
