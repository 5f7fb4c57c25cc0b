"""LIVE and BACKFILL: what a worker process drains, and in which group of Kafka's."""

from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from stream.writing.backfill_writer import BackfillWriter
from stream.writing.batch_writer import BatchWriter


class WorkerRole(Struct, frozen=True):
    """Kinds that are drained together, apart from all others."""

    kinds: tuple[Kind, ...]
    writer: type[BatchWriter]
    group_suffix: str = ""
    """Added to the group's name."""


LIVE = WorkerRole(KINDS, BatchWriter)
BACKFILL = WorkerRole((IMPORTED_EVENT,), BackfillWriter, "-backfill")
