"""LIVE and BACKFILL: item kinds, writer role and consumer group of a worker process."""

from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from stream.writing.backfill_writer import BACKFILL_WRITER
from stream.writing.writer_role import LIVE_WRITER, WriterRole


class WorkerRole(Struct, frozen=True):
    """Item kinds that one worker process reads, how it stores them, and its consumer group."""

    kinds: tuple[Kind, ...]
    writer: WriterRole
    group_suffix: str = ""
    """Appended to the name of the consumer group."""


LIVE = WorkerRole(KINDS, LIVE_WRITER)
BACKFILL = WorkerRole((IMPORTED_EVENT,), BACKFILL_WRITER, "-backfill")
