"""Session rows: what an event adds to its session, and what the events of a prepared session do.

What the keeper has prepared of a data file (`schemas/tables/sessions.py`) has a row for each
session and UTC day; it is read in place of the events of the whole UTC days in the time range. The
rows before and after these days come from events.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from query.engine.engine import Engine
from query.request.time_range import TimeRange
from query.request.time_zones import DAY_MS
from query.scope.prepared_files import prepared_scopes
from query.scope.row_scope import Scope
from query.scope.scope import SCOPED, ScopedRelations, WantedRelation, scoped_relations
from query.scope.visits import VisitFact
from query.sql.portable import names_in
from query.sql.row_definitions import IS_OTHER_EVENT, PAGE_VIEW
from query.sql.select import Cte
from schemas.tables import SESSIONS

SESSION_ROWS = "session_rows"
PREPARED_SESSIONS = "prepared_sessions"
EVENTS_BEFORE = "events_before"
EVENTS_AFTER = "events_after"
"""The relations with the rows before and after the whole days."""


class SessionValue(Struct, frozen=True):
    """A column of `session_rows`: of one event, and of a prepared row if that has it."""

    event_sql: str
    prepared_sql: str | None


def _stored(name: str) -> SessionValue:
    return SessionValue(name, name)


VALUES: Mapping[str, SessionValue] = {
    "session_hash": _stored("session_hash"),
    "website_id": _stored("website_id"),
    "session_id": _stored("session_id"),
    "anonymous_id": _stored("anonymous_id"),
    "visitor_hash": SessionValue("visitor_hash", None),
    "profile_id": _stored("profile_id"),
    "trusted_profile_id": SessionValue(
        "CASE WHEN trusted THEN profile_id END", "trusted_profile_id"
    ),
    "started_at": SessionValue("ts", "started_at"),
    "ended_at": SessionValue("ts", "ended_at"),
    "page_views": SessionValue(f"CASE WHEN {PAGE_VIEW} THEN 1 ELSE 0 END", "page_views"),
    "other_events": SessionValue(f"CASE WHEN {IS_OTHER_EVENT} THEN 1 ELSE 0 END", "other_events"),
    "events": SessionValue("1", "events"),
    "visible_time": SessionValue("time_on_page", "visible_time"),
}
"""Columns of `session_rows`; sums, least and greatest values of them are those of sessions."""


async def session_rows(
    engine: Engine, scope: Scope, names: Collection[str], facts: Sequence[VisitFact]
) -> ScopedRelations:
    """The CTE `session_rows` with these values, after `visit_facts` if there are facts.

    `scope` has no condition on rows: it would keep a part of a session.
    """
    wanted = {name: VALUES[name] for name in VALUES if name in {"session_hash", *names}}
    is_prepared = all(value.prepared_sql for value in wanted.values())
    sources = session_sources(engine, scope) if is_prepared else {SCOPED: scope}
    relations = {
        name: WantedRelation(each, _columns(wanted, name)) for name, each in sources.items()
    }
    scoped = await scoped_relations(engine, relations, facts)
    union = " UNION ALL ".join(_select(wanted, name) for name in sources)
    return structs.replace(scoped, relations=(*scoped.relations, Cte(SESSION_ROWS, union)))


def session_sources(engine: Engine, scope: Scope) -> Mapping[str, Scope]:
    """The scopes whose rows are all of the scope, by the name of their relation."""
    whole = whole_days(scope.time_range)
    if whole is None or scope.by_profile or scope.names_person:
        return {SCOPED: scope}
    found = prepared_scopes(engine, _within(scope, whole), SESSIONS)
    if found.prepared is None:
        return {SCOPED: scope}
    sources = {PREPARED_SESSIONS: found.prepared}
    if found.unprepared is not None:
        sources[SCOPED] = found.unprepared
    return sources | dict(_edges(scope, whole))


def whole_days(time_range: TimeRange) -> TimeRange | None:
    """The UTC days that lie in the time range as a whole; None when there are none."""
    start = time_range.start_ms + -time_range.start_ms % DAY_MS
    end = time_range.end_ms - time_range.end_ms % DAY_MS
    return TimeRange(start, end, time_range.zone) if start < end else None


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


def _columns(wanted: Mapping[str, SessionValue], relation: str) -> Sequence[str]:
    """The columns that a relation has to have."""
    names = [name for value in wanted.values() for name in sorted(names_in(_sql(value, relation)))]
    return list(dict.fromkeys(names))


def _select(wanted: Mapping[str, SessionValue], relation: str) -> str:
    columns = ", ".join(f"{_sql(value, relation)} AS {name}" for name, value in wanted.items())
    return f"SELECT {columns} FROM {relation} WHERE session_hash IS NOT NULL"  # noqa: S608
