"""How many rows of an import are in the table, and whether more are to come."""

import time
from collections.abc import Iterator

from msgspec import Struct

from deploy.local.processes.readiness import is_live
from schemas.kinds import HISTORY
from schemas.lake.delta_table import open_table
from schemas.registry import Import
from schemas.runtime.heartbeat import level_since, read_pulses
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS

LOOK_SECONDS = 0.5
LEVEL_MS = 1_500
"""A pulse that is complete up to so long after the last answer has seen what that was about."""


class Stored(Struct, frozen=True):
    """What the table holds of an import."""

    rows: int
    level: bool = False
    """Whether everything that Kafka has of imports is in the table."""


def rows_of(settings: Settings, one: Import) -> int:
    """Rows of an import in the newest version."""
    from stream.maintenance.import_deletion import held
    from stream.storage.delta_commit import LakeTable

    if open_table(settings.lake_url, EVENTS) is None:
        return 0
    return held(LakeTable(settings, EVENTS), one)[1]


def watched(settings: Settings, one: Import, since_ms: int) -> Iterator[Stored]:
    """Looks again and again, until all is there or nothing more can come."""
    while True:
        level = is_level(settings, since_ms + LEVEL_MS)
        found = Stored(rows_of(settings, one), level)
        yield found
        if level:
            return
        time.sleep(LOOK_SECONDS)


def is_level(settings: Settings, since_ms: int) -> bool:
    """Whether everything that Kafka took before this instant is in the table."""
    pulses = [pulse for pulse in read_pulses(settings.data / "run") if is_live(pulse)]
    complete = level_since(settings.topic(HISTORY.topic), pulses, settings.partitions)
    return complete is not None and complete >= since_ms
