"""When visitors were first and last seen, found by going through all events ever stored."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tests.oracle import wall_clock
from tests.oracle.stored_rows import Row

EVER_MS = 4_102_444_800_000
"""The end of 2099."""
BUCKETS = {"day": "daily", "week": "weekly", "month": "monthly"}


class VisitorTimes:
    """The instants at which each person had an event."""

    def __init__(self, events: Sequence[Row]) -> None:
        self._times: dict[str, list[int]] = {}
        for row in events:
            if row["person"] is not None:
                self._times.setdefault(row["person"], []).append(row["ms"])

    def told(self, row: Row, start_ms: int, zone: str) -> Row:
        """What holds for the visitor of a row, in a time range from this instant."""
        times = sorted(self._times.get(row["person"], ()))
        is_new = None if row["person"] is None else not times or times[0] >= start_ms
        return {
            "visitor.is_new": is_new,
            **_seen("visitor.first_seen", times[0] if times else None, zone),
            **_seen("visitor.last_seen", times[-1] if times else None, zone),
        }


def _seen(name: str, ms: int | None, zone: str) -> Row:
    """An instant, and the days, weeks and months that it lies in."""
    if ms is None:
        return {name: None, **{f"{name}:{part}": None for part in BUCKETS}}
    labels = {
        f"{name}:{part}": wall_clock.bucket(ms, zone, width)[0] for part, width in BUCKETS.items()
    }
    return {name: datetime.fromtimestamp(ms / 1000, UTC), **labels}
