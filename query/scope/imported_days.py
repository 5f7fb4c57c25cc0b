"""Days of imported totals: whole days without a zone, beside the events of the website itself.

`ts` of a row of imported totals is the midnight of its day in UTC. A day of the query's zone has
the same number, so that the days on which the website has events of its own are found by number.
"""

from datetime import UTC, date, datetime, timedelta

from msgspec import structs

from query.engine.snapshots import PinnedVersion
from query.request.time_range import Granularity, TimeRange, first_whole_day
from query.request.time_zones import to_local, to_unix_ms
from query.scope.row_scope import Scope, without_conditions
from schemas.tables import EVENTS


def whole_days(time_range: TimeRange) -> TimeRange:
    """The days of the zone that lie in the time range as a whole, as days of UTC."""
    start = first_whole_day(time_range.start_ms, time_range.zone)
    end = max(start, to_local(time_range.end_ms, time_range.zone).date())
    return TimeRange(_midnight(start, "UTC"), _midnight(end, "UTC"), "UTC")


def own_days(totals: Scope, asked: TimeRange, events: PinnedVersion) -> Scope:
    """The website's own events of the days that imported totals may be of, by day of the zone.

    Totals from before the first event overlap with no data file of events.
    """
    ranges = [file.ts_range or _bounds(totals.time_range) for file in totals.data_files]
    first = max(totals.time_range.start_ms, min((low for low, _ in ranges), default=0))
    last = min(totals.time_range.end_ms - 1, max((high for _, high in ranges), default=0))
    day_after = _day(last) + timedelta(days=1)
    start_ms, end_ms = _midnight(_day(first), asked.zone), _midnight(day_after, asked.zone)
    return structs.replace(
        without_conditions(totals),
        pinned=events,
        subject_column=EVENTS.subject_column,
        time_range=TimeRange(start_ms, max(start_ms, end_ms), asked.zone),
        granularity=Granularity.DAILY,
    )


def _bounds(time_range: TimeRange) -> tuple[int, int]:
    return time_range.start_ms, time_range.end_ms


def _day(ms: int) -> date:
    return datetime.fromtimestamp(ms / 1000, UTC).date()


def _midnight(day: date, zone: str) -> int:
    return to_unix_ms(datetime.combine(day, datetime.min.time()), zone)
