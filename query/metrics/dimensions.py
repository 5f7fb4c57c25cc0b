"""Dimensions: what the rows of a result are grouped by.

A dimension is a field, a property (`properties.plan`) or a part of time (`time:day`). Calendar
arithmetic is on integers, with the UTC offsets of the time zone as bound values.
"""

from collections.abc import Callable, Container, Mapping, Sequence

from msgspec import Struct, structs

from query.metrics.fields import (
    ALL_TABLES,
    FIELDS,
    ROW_PREFIX,
    TABLES_WITH_PROPERTIES,
    TABLES_WITH_TIME,
)
from query.request.buckets import GRANULARITIES, SHORT_NAMES, Granularity
from query.request.date_parts import DESCRIPTIONS, DatePart, date_part_sql
from query.request.property_path import is_property, parse_property
from query.request.suggestions import COLUMN_WORDS, DIMENSION_WORDS, shorten, unknown_name_message
from query.request.time_range import TimeRange
from query.scope.scope import MS
from query.scope.visits import VisitFact
from query.sql.fragment import Fragment
from schemas.errors import Malformed
from schemas.tables import EVENTS, ColumnType

TIME_PREFIX = "time:"

TimeSql = Callable[[str, TimeRange], Fragment]
"""The expression over an instant in Unix milliseconds."""


class TimeDimension(Struct, frozen=True):
    """A part of time: a bucket of the time range, or a number such as the hour of the day."""

    name: str
    description: str
    sql: TimeSql
    granularity: Granularity | None = None
    """Of a bucket, which has a label."""


class Dimension(Struct, frozen=True):
    """One dimension of a query."""

    name: str
    """As requested: the key in result rows."""
    type: ColumnType
    sql: str = ""
    """Its expression over a row, except for time."""
    values: Mapping[str, object] = {}
    time: TimeDimension | None = None
    tables: frozenset[str] = ALL_TABLES
    """The tables whose rows have it."""
    reads_events: bool = False
    """Whether its values come from events, for rows of any table."""
    fact: VisitFact | None = None
    """The fact of the visit that it is."""

    bucket: Granularity | None = None
    """How wide the buckets of an instant of the visitor are; it may lie beyond the time range."""

    @property
    def is_of_row(self) -> bool:
        """Whether rows of one visit may have different values."""
        return self.time is None and self.fact is None

    def bucketed(self, history: TimeRange, position: int) -> "Dimension":
        """The same by its buckets, in a time range that contains all its instants."""
        if self.bucket is None:
            return self
        bucket = history.bucket_sql(self.sql, self.bucket).with_prefix(f"seen{position}_")
        text = f"CASE WHEN {self.sql} IS NOT NULL THEN {bucket.text} END"
        return structs.replace(self, sql=text, values=bucket.values, bucket=None)

    def of_row(self, time_range: TimeRange, position: int) -> Fragment:
        """Its value for a row."""
        return self.at(MS, time_range, position) if self.time else Fragment(self.sql, self.values)

    def at(self, ms: str, time_range: TimeRange, position: int) -> Fragment:
        """The value of a part of time at an instant; `position` makes its bound values its own."""
        if self.time is None:
            raise ValueError(f"'{self.name}' is no part of time")
        return self.time.sql(ms, time_range).with_prefix(f"time{position}_")


def _bucket(granularity: Granularity, description: str) -> TimeDimension:
    short = next(name for name, same in SHORT_NAMES.items() if same is granularity)
    return TimeDimension(
        TIME_PREFIX + short,
        description,
        lambda ms, time_range: time_range.bucket_sql(ms, granularity),
        granularity,
    )


def _date_part(part: DatePart) -> TimeDimension:
    return TimeDimension(
        TIME_PREFIX + part,
        DESCRIPTIONS[part],
        lambda ms, time_range: date_part_sql(ms, time_range, part),
    )


TIME_DIMENSIONS = (
    _bucket(Granularity.MINUTE, "minute"),
    _bucket(Granularity.QUARTER_HOUR, "quarter of an hour"),
    _bucket(Granularity.HOURLY, "hour"),
    _bucket(Granularity.DAILY, "day"),
    _bucket(Granularity.WEEKLY, "week, by its Monday"),
    _bucket(Granularity.SUNDAY_WEEK, "week from Sunday, by that day"),
    _bucket(Granularity.MONTHLY, "month, by its first day"),
    _bucket(Granularity.QUARTERLY, "quarter of the year, by its first day"),
    _bucket(Granularity.YEARLY, "year, by its first day"),
    *(_date_part(part) for part in DatePart),
)

DATE_PARTS = {TIME_PREFIX + part: part for part in DatePart}
"""Parts of time that filters may name as well."""

INSTANT_BUCKETS = {
    f"{field.name}:{short}": (field.name, SHORT_NAMES[short])
    for field in FIELDS.values()
    if field.in_ms
    for short in ("day", "week", "month")
}
"""Instants of the visitor by the buckets that they lie in: the field and the width."""

TIMES = {dimension.name: dimension for dimension in TIME_DIMENSIONS}


def parse_dimensions(
    names: Sequence[str],
    metrics: Container[str] = (),
    computed: Mapping[str, Fragment] = {},
) -> tuple[Dimension, ...]:
    """The dimensions of those names; Malformed for one that is unknown or given twice.

    A column with the name of one of the metrics has its full name in the result. `computed` are
    further texts of events by name, whose expressions depend on the website.
    """
    full = [_full_name(name, metrics) for name in names]
    for i, name in enumerate(full):
        if name in full[:i]:
            raise Malformed(f"'dimensions[{i}]' is '{name[:60]}' again; give each dimension once")
    own = frozenset((EVENTS.name,))
    return tuple(
        Dimension(name, ColumnType.STRING, computed[name].text, computed[name].values, tables=own)
        if name in computed
        else _dimension(name, i)
        for i, name in enumerate(full)
    )


def _full_name(name: str, metrics: Container[str]) -> str:
    full = ROW_PREFIX + name
    return full if name in metrics and full in FIELDS else name


def _dimension(name: str, position: int) -> Dimension:
    at = f"dimensions[{position}]"
    if name.startswith(TIME_PREFIX):
        granularity = GRANULARITIES.get(name.removeprefix(TIME_PREFIX))
        time = next(
            (t for t in TIME_DIMENSIONS if granularity and t.granularity is granularity),
            TIMES.get(name),
        )
        if time is None:
            raise Malformed(unknown_name_message("part of time", name, TIMES, f" in '{at}'"))
        type_ = ColumnType.STRING if time.granularity else ColumnType.INTEGER
        return Dimension(name, type_, time=time, tables=TABLES_WITH_TIME)
    if is_property(name):
        property_ = parse_property(name, f"dimension{position}_path", at)
        values = {property_.parameter: property_.pointer}
        return Dimension(
            name, ColumnType.STRING, property_.text, values, tables=TABLES_WITH_PROPERTIES
        )
    field_name, bucket = INSTANT_BUCKETS.get(name, (name, None))
    field = FIELDS.get(field_name)
    if field is None:
        raise Malformed(_unknown(name, at))
    is_instant = field.type is ColumnType.TIMESTAMP and not field.in_ms
    return Dimension(
        name,
        ColumnType.STRING if bucket else field.type,
        f"UNIX_MS({field.column})" if is_instant else field.column,
        bucket=bucket,
        tables=field.tables,
        reads_events=field.reads_events,
        fact=field.fact,
    )


def _unknown(name: str, at: str) -> str:
    word = name[:100].lower()
    if word == "segment":
        return f"'{at}' is 'segment'; rows have it where 'segments' names segments, not by itself"
    words = {**COLUMN_WORDS, **DIMENSION_WORDS}
    meant = words.get(word) or ([TIME_PREFIX + word] if TIME_PREFIX + word in TIMES else ())
    known = [field for field in meant if field in FIELDS or field in TIMES]
    if known:
        choice = " or ".join(f"'{field}'" for field in known)
        return f"Unknown dimension '{shorten(name)}' in '{at}'; did you mean {choice}?"
    advice = "GET /v1/query/metrics lists all"
    names = [*FIELDS, *INSTANT_BUCKETS, *TIMES]
    return unknown_name_message("dimension", name, names, f" in '{at}'", advice=advice)
