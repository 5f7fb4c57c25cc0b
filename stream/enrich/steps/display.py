"""What the browser says of its surroundings: time zone, screen, viewport and connection.

As sent, in one spelling; what is nonsense counts as not said.
"""

import re
from collections.abc import Callable, Mapping

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.time_zones import zone_names
from stream.rows.row_batch import RowBatch

MAX_PIXELS = 32_768
"""Pixels of a side; larger ones are jokes."""

CONNECTIONS = frozenset(
    ("slow-2g", "2g", "3g", "4g", "5g", "wifi", "cellular", "ethernet", "bluetooth", "wimax",
     "mixed", "other", "none"),
)  # fmt: skip

_SIZE = re.compile(
    r"(\d{1,5})(?:\.\d+)?(?:px)?\s*[x×*]\s*(\d{1,5})(?:\.\d+)?(?:px)?", re.IGNORECASE
)
_ZONE = re.compile(r"[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z0-9_+-]+){1,2}|[+-][01]\d:[0-5]\d")


def parse_time_zone(said: str) -> str | None:
    """A time zone as the tz database spells it; one that is newer than it as it came."""
    text = said.strip()
    known = zone_names().get(text.lower())
    return known or (text if _ZONE.fullmatch(text) else None)


def parse_size(said: str) -> str | None:
    """`WxH` in whole pixels."""
    found = _SIZE.fullmatch(said.strip())
    if found is None:
        return None
    width, height = int(found[1]), int(found[2])
    return f"{width}x{height}" if 0 < width <= MAX_PIXELS and 0 < height <= MAX_PIXELS else None


def parse_connection(said: str) -> str | None:
    """Kind or effective kind of network, as the Network Information API names them."""
    text = said.strip().lower()
    return text if text in CONNECTIONS else None


PARSERS: Mapping[str, Callable[[str], str | None]] = {
    "timezone": parse_time_zone,
    "screen_resolution": parse_size,
    "viewport_size": parse_size,
    "connection_type": parse_connection,
}


def put_display(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    for name, read in _read.items():
        if rows.has_column(name):
            rows.columns[name] = list(map(read.__getitem__, rows.item_field(name)))


def optional_cache(
    reader: Callable[[str], str | None],
) -> GenerationalCache[str | None, str | None]:
    """The reader with a memory; what was not said is not read."""
    return GenerationalCache(lambda said: reader(said) if said else None)


_read = {name: optional_cache(reader) for name, reader in PARSERS.items()}
