"""Counts the stored rows of an import and waits until all are stored."""

import time
from collections.abc import Iterator

from msgspec import Struct

from deploy.local.processes.readiness import is_fresh
from schemas.kinds import IMPORTED_EVENT
from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.lake.delta_table import open_table
from schemas.registry import Import
from schemas.runtime.heartbeat import complete_until, read_heartbeats
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, IMPORTED_TOTALS

POLL_INTERVAL_SECONDS = 0.5
COMPLETENESS_MARGIN_MS = 1_500
"""A watermark this much later than the last response covers all sent lines."""


class StoredRows(Struct, frozen=True):
    """The stored rows of an import."""

    rows: int
    is_complete: bool = False
    """Whether all imported events in Kafka are in the table."""


def count_rows(settings: Settings, record: Import) -> int:
    """Rows of an import in the newest table versions."""
    from stream.maintenance.import_deletion import files_of_import
    from stream.storage.delta_commit import LakeTable

    return sum(
        files_of_import(LakeTable(settings, table), record)[1]
        for table in (EVENTS, IMPORTED_TOTALS)
        if open_table(settings.lake_url, table) is not None
    )


def poll_stored_rows(settings: Settings, record: Import, since_ms: int) -> Iterator[StoredRows]:
    """Poll the count until all rows are stored, and queries that start then see them."""
    while True:
        complete = is_complete(settings, since_ms + COMPLETENESS_MARGIN_MS)
        stored = StoredRows(count_rows(settings, record), complete)
        yield stored
        if complete:
            time.sleep(SNAPSHOT_MAX_AGE_SECONDS)
            return
        time.sleep(POLL_INTERVAL_SECONDS)


def is_complete(settings: Settings, since_ms: int) -> bool:
    """Whether everything that Kafka acknowledged before this time is in the table."""
    heartbeats = [
        heartbeat for heartbeat in read_heartbeats(settings.data / "run") if is_fresh(heartbeat)
    ]
    complete = complete_until(settings.topic(IMPORTED_EVENT.topic), heartbeats, settings.partitions)
    return complete is not None and complete >= since_ms
