"""Rows of imported totals, and their storing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from schemas.runtime.settings import Settings
from schemas.tables import IMPORTED_TOTALS
from stream.rows.arrow_tables import arrow_table
from stream.writing.imported_totals import store_totals
from tests.stream.builders import NOON_MS, rows

NOON = datetime.fromtimestamp(NOON_MS / 1000, UTC)


def totals_rows(
    import_id: str, days: Sequence[int], website: str = "w1", views: int = 5
) -> pa.Table:
    """A row of page views for the whole website on each day so many after that of NOON_MS."""
    midnight = NOON.replace(hour=0)
    count = len(days)
    columns: dict[str, Any] = {
        "website_id": [website] * count,
        "ts": [midnight + timedelta(days=day) for day in days],
        "received_at": [NOON] * count,
        "dimension": [""] * count,
        "page_views": [views] * count,
        "product": ["Plausible"] * count,
        "import_id": [import_id] * count,
    }
    return arrow_table(IMPORTED_TOTALS, columns)


def store(config: Settings, import_id: str, days: Sequence[int], website: str = "w1") -> None:
    store_totals(config, import_id, totals_rows(import_id, days, website))


def stored(config: Settings) -> list[tuple[Any, ...]]:
    """Import and day of each row."""
    found = rows(config, IMPORTED_TOTALS, "import_id", "ts")
    return [(name, (at - NOON.replace(hour=0)).days) for name, at in found]
