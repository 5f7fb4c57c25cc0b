"""LIVE and BACKFILL: what a worker process drains, and in which group of Kafka's."""

from msgspec import Struct

from schemas.kinds import HISTORY, KINDS, Kind
from stream.writing.backfill_writer import Backfill
from stream.writing.batch_writer import Drain


class Lane(Struct, frozen=True):
    """Kinds that are drained together, apart from all others."""

    kinds: tuple[Kind, ...]
    drain: type[Drain]
    group: str = ""
    """Added to the group's name."""


LIVE = Lane(KINDS, Drain)
BACKFILL = Lane((HISTORY,), Backfill, "-backfill")
