"""What a notifier is given, with a clock and watermarks that a test moves."""

from datetime import datetime

from msgspec import Struct, structs

from query.dependencies import QueryDependencies
from query.engine.freshness import FreshnessTracker
from query.engine.table_offsets import TableOffsets
from query.engine.topic_watermarks import Measurement, TopicWatermarks
from schemas.kinds import KINDS
from schemas.runtime.settings import Settings
from tests.query.query_service import NOW, InProcessService


def ms(text: str) -> int:
    """Unix milliseconds of an ISO 8601 instant."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


class Times(Struct):
    """The time, and until when everything is stored."""

    now_ms: int
    watermarks: TopicWatermarks

    def move(self, stored_until: str, now: str | None = None) -> None:
        """Everything that was received before an instant is stored; by default it is now."""
        until = ms(stored_until)
        self.now_ms = until if now is None else ms(now)
        self.watermarks.add(Measurement(0, {kind.table.name: until for kind in KINDS}))


def at_times(service: InProcessService) -> tuple[QueryDependencies, Times]:
    """The dependencies of a service, of which nothing is stored yet, and their times."""
    settings = Settings(data_dir=str(service.data))
    offsets = TableOffsets(settings.lake_url, "", 1)
    watermarks = TopicWatermarks(settings, offsets, lambda: times.now_ms)
    times = Times(NOW, watermarks)
    freshness = FreshnessTracker(watermarks, lambda: times.now_ms)
    return (
        structs.replace(service.dependencies, clock=lambda: times.now_ms, freshness=freshness),
        times,
    )
