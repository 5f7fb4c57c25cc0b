"""Session rows: what an event adds to its session, and what the events of a prepared session do.

What the keeper has prepared of a data file (`schemas/tables/sessions.py`) has a row for each
session and UTC day; it is read in place of the events of the whole UTC days in the time range. The
rows before and after these days come from events, and so do all where a condition keeps some events
of a session only, or where a value is not prepared.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from query.engine.engine import Engine
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS
from query.scope.prepared_files import prepared_scopes
from query.scope.row_scope import Scope
from query.scope.scope import WantedRelation
from query.sql.fragment import Fragment
from query.sql.portable import names_in
from query.sql.row_definitions import (
    ENDS_BOUNCE,
    IS_CUSTOM,
    IS_OUTBOUND,
    PAGE_VIEW,
    ROW_ORDER_NUMBER,
)
from query.sql.select import Cte
from schemas.tables import SESSIONS

SESSION_ROWS = "session_rows"
PREPARED_SESSIONS = "prepared_sessions"
UNPREPARED_EVENTS = "unprepared_events"
"""The relation with the rows of data files that nothing is prepared of."""
EVENTS_BEFORE = "events_before"
EVENTS_AFTER = "events_after"
"""The relations with the rows before and after the whole days."""


class SessionValue(Struct, frozen=True):
    """A column of `session_rows`: of one event, and of a prepared row if that has it."""

    event_sql: str
    prepared_sql: str | None


def _stored(name: str) -> SessionValue:
    return SessionValue(name, name)


def _counted(name: str, condition: str) -> SessionValue:
    return SessionValue(f"CASE WHEN {condition} THEN 1 ELSE 0 END", name)


VALUES: Mapping[str, SessionValue] = {
    "session_hash": _stored("session_hash"),
    "website_id": _stored("website_id"),
    "session_id": _stored("session_id"),
    "anonymous_id": _stored("anonymous_id"),
    "visitor_of_id": SessionValue("visitor_hash", None),
    "profile_id": _stored("profile_id"),
    "trusted_profile_id": SessionValue(
        "CASE WHEN trusted THEN profile_id END", "trusted_profile_id"
    ),
    "started_at": SessionValue("ts", "started_at"),
    "ended_at": SessionValue("ts", "ended_at"),
    "page_views": _counted("page_views", PAGE_VIEW),
    "other_events": _counted("other_events", ENDS_BOUNCE),
    "events": SessionValue("1", "events"),
    "outbound_clicks": _counted("outbound_clicks", IS_OUTBOUND),
    "custom_events": _counted("custom_events", IS_CUSTOM),
    "visible_time": SessionValue("time_on_page", "visible_time"),
    "row_order": _stored(ROW_ORDER_NUMBER),
    "bucket": _stored("bucket"),
    "view_ms": _stored("ms"),
    "view_visitor": _stored("visitor_hash"),
    "view_visitor_id": SessionValue("anonymous_id", None),
}
"""Columns of `session_rows`.

`row_order`, `bucket` and `view_…` are those of an event, and of the first page view of a prepared
row: only rows with page views have them. `visitor_of_id` is the visitor of `anonymous_id`.
"""

# Over the rows of one session in `session_rows`:
PAGE_VIEWS = "CAST(SUM(page_views) AS BIGINT)"
OTHER_EVENTS = "CAST(SUM(other_events) AS BIGINT)"
STARTED_MS = "UNIX_MS(MIN(started_at))"
ENDED_MS = "UNIX_MS(MAX(ended_at))"
DURATION_MS = (
    f"GREATEST({ENDED_MS} - {STARTED_MS}, CAST(COALESCE(SUM(visible_time), 0) * 1000 AS BIGINT))"
)
MERGED_MEASURES = (
    f"{PAGE_VIEWS} AS page_views, {OTHER_EVENTS} AS other_events, {DURATION_MS} AS duration_ms"
)


def of_first_view(value: str) -> str:
    """The value of the first page view of the rows of one session."""
    return f"FIRST_BY({value}, row_order) FILTER (WHERE page_views > 0)"


class SessionRows(Struct, frozen=True):
    """How a statement gets `session_rows`, if it names them."""

    values: Mapping[str, SessionValue]
    sources: Mapping[str, WantedRelation]
    """The relations with all rows; none where they come from one that the statement has."""
    events: str
    """That relation: the events of whole sessions."""

    @property
    def names(self) -> frozenset[str]:
        """What the statement has to have besides: the relation of events and their columns."""
        if not self.values or self.sources:
            return frozenset()
        return event_columns(self.values) | {self.events}

    @property
    def ctes(self) -> tuple[Cte, ...]:
        """The CTE `session_rows`, after its sources."""
        if not self.values:
            return ()
        return (session_rows_cte(self.values, self.sources or [self.events]),)


def session_rows(engine: Engine, scope: Scope, names: frozenset[str], events: str) -> SessionRows:
    """How a statement with these names gets `session_rows` of the scope."""
    values = values_named(names) if SESSION_ROWS in names else {}
    sources = prepared_sources(engine, scope, values) if values else None
    return SessionRows(values, sources or {}, events)


def values_named(names: Collection[str]) -> Mapping[str, SessionValue]:
    """The columns of `session_rows` that are among these names."""
    return {name: value for name, value in VALUES.items() if name in {"session_hash", *names}}


def event_columns(values: Mapping[str, SessionValue]) -> frozenset[str]:
    """The columns of events that these values come from."""
    return frozenset[str]().union(*(names_in(value.event_sql) for value in values.values()))


def prepared_sources(
    engine: Engine, scope: Scope, values: Mapping[str, SessionValue]
) -> Mapping[str, WantedRelation] | None:
    """The relations that have all rows of the scope, most of them prepared.

    None where the rows have to come from events alone.
    """
    whole = whole_days(scope.time_range)
    if whole is None or not _keeps_whole_sessions(scope) or not _are_prepared(values):
        return None
    found = prepared_scopes(engine, _within(scope, whole), SESSIONS)
    if found.prepared is None:
        return None
    prepared = structs.replace(
        found.prepared, visit_where=scope.session_where, session_where=Fragment()
    )
    scopes = {PREPARED_SESSIONS: prepared}
    if found.unprepared is not None:
        scopes[UNPREPARED_EVENTS] = found.unprepared
    scopes |= dict(_edges(scope, whole))
    return {name: WantedRelation(each, _columns(values, name)) for name, each in scopes.items()}


def session_rows_cte(values: Mapping[str, SessionValue], relations: Collection[str]) -> Cte:
    """The CTE `session_rows` with these values, from the rows of these relations."""
    selects = [
        f"SELECT {_selected(values, name)} FROM {name} WHERE session_hash IS NOT NULL"  # noqa: S608
        for name in relations
    ]
    return Cte(SESSION_ROWS, " UNION ALL ".join(selects))


def whole_days(time_range: TimeRange) -> TimeRange | None:
    """The UTC days that lie in the time range as a whole; None when there are none."""
    start = time_range.start_ms + -time_range.start_ms % DAY_MS
    end = time_range.end_ms - time_range.end_ms % DAY_MS
    return TimeRange(start, end, time_range.zone) if start < end else None


def _keeps_whole_sessions(scope: Scope) -> bool:
    """Whether sessions are kept as a whole, each device for itself, and not only some by key."""
    is_of_rows = scope.where.text or scope.keys.text or scope.visit_where.visitor_sets
    return not (is_of_rows or scope.by_profile or scope.names_person)


def _are_prepared(values: Mapping[str, SessionValue]) -> bool:
    return all(value.prepared_sql is not None for value in values.values())


def _edges(scope: Scope, whole: TimeRange) -> Iterator[tuple[str, Scope]]:
    """What of the scope lies before and after these days."""
    own = scope.time_range
    if own.start_ms < whole.start_ms:
        yield EVENTS_BEFORE, _within(scope, TimeRange(own.start_ms, whole.start_ms, own.zone))
    if whole.end_ms < own.end_ms:
        yield EVENTS_AFTER, _within(scope, TimeRange(whole.end_ms, own.end_ms, own.zone))


def _within(scope: Scope, time_range: TimeRange) -> Scope:
    """The scope with rows of a part of its time range; facts and sets are those of the whole."""
    return structs.replace(
        scope,
        time_range=time_range,
        fact_range=scope.fact_range or scope.time_range,
        asked_range=scope.asked_range or scope.time_range,
    )


def _sql(value: SessionValue, relation: str) -> str:
    of_prepared = relation == PREPARED_SESSIONS and value.prepared_sql
    return of_prepared or value.event_sql


def _columns(values: Mapping[str, SessionValue], relation: str) -> Sequence[str]:
    """The columns that a relation has to have."""
    names = [name for value in values.values() for name in sorted(names_in(_sql(value, relation)))]
    return list(dict.fromkeys(names))


def _selected(values: Mapping[str, SessionValue], relation: str) -> str:
    return ", ".join(f"{_sql(value, relation)} AS {name}" for name, value in values.items())
