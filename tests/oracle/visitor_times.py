"""When visitors were first and last seen, found by going through all events ever stored."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tests.oracle import wall_clock
from tests.oracle.stored_rows import Row, unix_ms

FIRST_SEEN = "visitor.first_seen"
LAST_SEEN = "visitor.last_seen"
VISITOR_NAMES = frozenset((FIRST_SEEN, LAST_SEEN, "visitor.is_new"))
BUCKETS = {"day": "daily", "week": "weekly", "month": "monthly"}


class VisitorTimes:
    """The instants at which each person had an event."""

    def __init__(self, events: Sequence[Row]) -> None:
        self._times: dict[str, list[int]] = {}
        for row in events:
            if row["person"] is not None:
                self._times.setdefault(row["person"], []).append(row["ms"])

    def told(self, row: Row, new_from_ms: int) -> Row:
        """The row with what holds for its visitor, where those since this instant are new."""
        times = self._times.get(row["person"], [])
        is_new = None if row["person"] is None else not times or min(times) >= new_from_ms
        return {
            **row,
            "visitor.is_new": is_new,
            FIRST_SEEN: _instant(min(times)) if times else None,
            LAST_SEEN: _instant(max(times)) if times else None,
        }


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def buckets_told(row: Row, zone: str) -> Row:
    """The days, weeks and months in which its visitor was first and last seen."""
    return {
        f"{name}:{part}": row[name] and wall_clock.bucket(unix_ms(row[name]), zone, width)[0]
        for name in (FIRST_SEEN, LAST_SEEN)
        for part, width in BUCKETS.items()
    }
