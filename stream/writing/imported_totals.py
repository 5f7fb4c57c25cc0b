"""Stores the totals of one import, all rows in one commit and once.

The commit moves the import's watermark from 0 to 1, so that a run that is repeated after a kill
stores nothing, and one of an import that was undone is refused (`import_watermarks.py`).
"""

import pyarrow as pa

from schemas.runtime.settings import Settings
from schemas.tables import IMPORTED_TOTALS
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.writing.import_watermarks import SEALED, watermark_key
from stream.writing.side_tables import write_files

STORED = 1
"""The watermark of an import whose totals are stored."""


def store_totals(settings: Settings, import_id: str, rows: pa.Table) -> None:
    """Store the rows, unless an earlier run has; Fenced when the import was undone."""
    table, key = LakeTable(settings, IMPORTED_TOTALS), watermark_key(import_id)
    watermark = table.next_offset(key)
    if watermark >= SEALED:
        raise Fenced(f"import {import_id} was undone")
    if watermark != STORED:
        table.commit(write_files(table, rows), {key: OffsetUpdate(0, STORED)})
