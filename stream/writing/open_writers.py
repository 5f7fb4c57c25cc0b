"""Opens the batch writers of a worker role; a table with a damaged log is skipped until repaired.

The other tables are written; the messages of a skipped one wait in Kafka.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress

from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, TABLES, Kind
from schemas.lake.delta_table import DamagedLog, open_table
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import REFUSED, Heartbeat, write_heartbeat
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.state.id_index import MemoryBudget
from stream.writing.backfill_writer import BACKFILL_WRITER
from stream.writing.batch_writer import BatchWriter
from stream.writing.writer_role import LIVE_WRITER, WriterRole


class WorkerRole(Struct, frozen=True):
    """Item kinds that one worker process reads, how it stores them, and its consumer group."""

    kinds: tuple[Kind, ...]
    writer: WriterRole
    group_suffix: str = ""
    """Appended to the name of the consumer group."""


LIVE = WorkerRole(KINDS, LIVE_WRITER)
BACKFILL = WorkerRole((IMPORTED_EVENT,), BACKFILL_WRITER, "-backfill")


log = logging.getLogger(__name__)

RECHECK_SECONDS = 10.0

DamagedTables = Mapping[str, str]
"""The reason by name of each table that cannot be opened."""


def open_writers(
    settings: Settings,
    role: WorkerRole,
    lookups: Lookups,
    memory_budget: MemoryBudget,
    quiet: bool = False,
) -> tuple[dict[str, BatchWriter], DamagedTables]:
    """The writers by topic, and the tables skipped because their log is damaged."""
    writers: dict[str, BatchWriter] = {}
    damaged_tables: dict[str, str] = {}
    for kind in role.kinds:
        try:
            writers[settings.topic(kind.topic)] = BatchWriter(
                settings, kind, lookups, memory_budget=memory_budget, role=role.writer
            )
        except DamagedLog as error:
            damaged_tables[kind.table.name] = str(error)
            log.log(
                logging.DEBUG if quiet else logging.CRITICAL,
                "table skipped: its messages wait in Kafka until its log is repaired",
                extra={"table": kind.table.name, "reason": str(error)},
            )
    return writers, damaged_tables


def skipped_tables(damaged_tables: DamagedTables) -> str:
    """The heartbeat's reason: which tables are not written and how to repair them; else empty."""
    if not damaged_tables:
        return ""
    reasons = "; ".join(dict.fromkeys(damaged_tables.values()))
    return (
        f"messages for {', '.join(sorted(damaged_tables))} wait in Kafka, because a log is damaged "
        f"({reasons}); run tidemark doctor --repair"
    )


async def wait_for_repair(settings: Settings, name: str, damaged_tables: DamagedTables) -> None:
    """Report that no table can be opened, then pause before the next attempt."""
    with suppress(OSError):
        heartbeat = Heartbeat(
            name, os.getpid(), now_ms(), REFUSED, reason=skipped_tables(damaged_tables)
        )
        write_heartbeat(settings.data / "run", heartbeat)
    await asyncio.sleep(RECHECK_SECONDS)


async def until_repaired(settings: Settings, damaged_tables: DamagedTables) -> None:
    """Return when a skipped table can be opened."""
    skipped = [table for table in TABLES if table.name in damaged_tables]
    while True:
        await asyncio.sleep(RECHECK_SECONDS)
        for table in skipped:
            with suppress(DamagedLog, DeltaError, OSError):
                await asyncio.to_thread(open_table, settings.lake_url, table)
                return
