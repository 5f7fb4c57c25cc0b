"""LIVE and BACKFILL: item kinds, batch writer and consumer group of a worker process."""

from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from stream.writing.backfill_writer import BackfillWriter
from stream.writing.batch_writer import BatchWriter


class WorkerRole(Struct, frozen=True):
    """Item kinds that one worker process reads, with their batch writer and consumer group."""

    kinds: tuple[Kind, ...]
    writer: type[BatchWriter]
    group_suffix: str = ""
    """Appended to the name of the consumer group."""


LIVE = WorkerRole(KINDS, BatchWriter)
BACKFILL = WorkerRole((IMPORTED_EVENT,), BackfillWriter, "-backfill")
