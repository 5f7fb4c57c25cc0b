"""What facts of visits and times of visitors come from: prepared rows, else rows of data files."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from query.engine.engine import Engine
from query.request.time_range import TimeRange
from query.scope.prepared_files import prepared_scopes
from query.scope.row_scope import Scope, WantedRelation, events_scope
from query.scope.visitor_times import (
    PREPARED_VISITORS,
    SOURCE_COLUMNS,
    VISITOR_EVENTS,
    times_range,
)
from query.scope.visits import (
    PREPARED_VISITS,
    VISIT_VIEWS,
    VisitFact,
    columns_of_prepared,
    columns_of_views,
)
from query.sql.fragment import Fragment, all_of
from query.sql.row_definitions import PAGE_VIEW
from schemas.tables import SESSIONS, VISITORS
from schemas.telemetry.instruments import VISIT_SOURCES, VISITOR_SOURCES


def fact_sources(
    engine: Engine,
    scope: Scope,
    facts: Sequence[VisitFact],
    time_range: TimeRange,
    only: Fragment,
) -> Mapping[str, WantedRelation]:
    """What facts come from: prepared visits, and page views of data files without them."""
    views = structs.replace(
        events_scope(scope),
        time_range=time_range,
        keys=scope.keys if scope.keys_are_visits else Fragment(),
        key_spans=scope.key_spans if scope.keys_are_visits else None,
    )
    found = prepared_scopes(engine, views, SESSIONS)
    VISIT_SOURCES.labels("prepared").inc(found.files_prepared)
    VISIT_SOURCES.labels("computed").inc(found.files_unprepared)
    relations = {}
    if found.prepared:
        of_visits = structs.replace(found.prepared, where=all_of(Fragment("page_views > 0"), only))
        relations[PREPARED_VISITS] = WantedRelation(of_visits, columns_of_prepared(facts))
    if found.unprepared:
        where = all_of(Fragment(f"{PAGE_VIEW} AND session_hash IS NOT NULL"), only)
        of_views = structs.replace(found.unprepared, where=where)
        relations[VISIT_VIEWS] = WantedRelation(of_views, columns_of_views(facts))
    return relations


def visitor_sources(
    engine: Engine, scope: Scope, names: frozenset[str]
) -> Mapping[str, WantedRelation]:
    """What times of visitors come from: prepared visitors, and events of data files without."""
    events = structs.replace(events_scope(scope), time_range=times_range(scope, names))
    found = prepared_scopes(engine, events, VISITORS)
    VISITOR_SOURCES.labels("prepared").inc(found.files_prepared)
    VISITOR_SOURCES.labels("computed").inc(found.files_unprepared)
    scopes = {PREPARED_VISITORS: found.prepared, VISITOR_EVENTS: found.unprepared}
    return {
        name: WantedRelation(each, SOURCE_COLUMNS[name]) for name, each in scopes.items() if each
    }
