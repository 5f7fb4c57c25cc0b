"""Time zone, screen, viewport and connection type, as the browser reports them.

Normalized to one spelling; invalid values become NULL.
"""

import re
from collections.abc import Callable, Mapping

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.time_zones import zone_names
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

MAX_PIXELS = 32_768
"""Largest width or height in pixels; larger values are invalid."""

CONNECTIONS = frozenset(
    ("slow-2g", "2g", "3g", "4g", "5g", "wifi", "cellular", "ethernet", "bluetooth", "wimax",
     "mixed", "other", "none"),
)  # fmt: skip

_SIZE = re.compile(
    r"(\d{1,5})(?:\.\d+)?(?:px)?\s*[x×*]\s*(\d{1,5})(?:\.\d+)?(?:px)?", re.IGNORECASE
)
_ZONE = re.compile(r"[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z0-9_+-]+){1,2}|[+-][01]\d:[0-5]\d")


def parse_time_zone(value: str) -> str | None:
    """A time zone by its present name; one that is newer than the tz database as sent."""
    text = value.strip()
    spelled = zone_names().get(text.lower())
    return spelled or (text if _ZONE.fullmatch(text) else None)


def parse_size(value: str) -> str | None:
    """`WxH` in whole pixels."""
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        return None
    width, height = int(match[1]), int(match[2])
    return f"{width}x{height}" if 0 < width <= MAX_PIXELS and 0 < height <= MAX_PIXELS else None


def parse_connection(value: str) -> str | None:
    """Type or effective type of network, as the Network Information API names them."""
    text = value.strip().lower()
    return text if text in CONNECTIONS else None


PARSERS: Mapping[str, Callable[[str], str | None]] = {
    "timezone": parse_time_zone,
    "screen_resolution": parse_size,
    "viewport_size": parse_size,
    "connection_type": parse_connection,
}


@enrichment_step(writes=columns("timezone"))
def put_display(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Time zone, screen, viewport, connection type, each normalized."""
    for name, cache in _caches.items():
        if rows.has_column(name):
            rows.columns[name] = rows.distinct_field(name).mapped(cache.__getitem__)


def optional_cache(
    parse: Callable[[str], str | None],
) -> GenerationalCache[str | None, str | None]:
    """A cache of the parser's results; None and empty text stay None."""
    return GenerationalCache(lambda value: parse(value) if value else None)


_caches = {name: optional_cache(parse) for name, parse in PARSERS.items()}
