"""Freshness of a result: everything acknowledged before its watermark is included."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from query.engine.snapshots import PinnedVersion
from query.engine.topic_watermarks import TopicWatermarks
from schemas.runtime.clock import Clock, format_instant
from schemas.tables import IMPORTED_TOTALS, Table

UNMEASURED = "A topic does not exist in Kafka, or its table cannot be read"


class Freshness(Struct, frozen=True):
    """Watermark and lag for `meta`; null when they are not known."""

    watermark: str | None
    lag_seconds: float | None
    stale_reason: str | UnsetType = UNSET
    """Why they are old, or not known."""


class FreshnessTracker:
    """The freshness of pinned versions."""

    def __init__(self, watermarks: TopicWatermarks, clock: Clock) -> None:
        self._watermarks = watermarks
        self._clock = clock

    def freshness_of(self, pins: Iterable[PinnedVersion]) -> Freshness:
        """The freshness of a result from these versions: the least fresh one counts."""
        pins = list(pins)
        watermarks = [self._watermark(pinned) for pinned in pins]
        known = [watermark for watermark in watermarks if watermark is not None]
        reason = self._stale_reason(pins, watermarks)
        if not known or len(known) < len(watermarks):
            return Freshness(None, None, reason)
        lowest = min(known)
        seconds = max(0, round((self._clock() - lowest) / 100)) / 10
        return Freshness(format_instant(lowest), seconds, reason)

    def newest_watermark(self) -> int | None:
        """Until when the tables of all kinds are known to have everything; None if unknown."""
        return self._watermarks.newest()

    def is_current(self, table: Table, within_ms: int) -> bool:
        """Whether the table is known to have everything up to so long ago."""
        return self._watermarks.is_current(table.name, within_ms)

    def _watermark(self, pinned: PinnedVersion) -> int | None:
        """An earlier version ends with its newest row, whatever Kafka has."""
        if pinned.is_historic:
            return pinned.version.newest_received_ms
        if pinned.version.table is IMPORTED_TOTALS:  # committed without Kafka
            return pinned.checked_ms
        return self._watermarks.watermark(pinned.version.table.name, pinned.checked_ms)

    def _stale_reason(
        self, pins: list[PinnedVersion], watermarks: list[int | None]
    ) -> str | UnsetType:
        newest = [
            watermark
            for pinned, watermark in zip(pins, watermarks, strict=True)
            if not pinned.is_historic and pinned.version.table is not IMPORTED_TOTALS
        ]
        if not newest:
            return UNSET
        if reason := self._watermarks.stale_reason():
            return reason
        return UNMEASURED if None in newest else UNSET
