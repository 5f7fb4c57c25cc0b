"""QUERY_TYPES: every standard query type by name and alias; one family per file."""

from collections.abc import Sequence
from functools import lru_cache

from query.request.filter_struct import fields_named, names_behavior
from query.request.query import Query
from query.request.subject import SubjectKind
from query.request.suggestions import QUERY_TYPE_WORDS, unknown_name_message
from query.scope.profiles import names_profile
from query.scope.visitor_facts import names_visitor_facts
from query.scope.visits import names_visit_facts
from query.standard.declaration.query_type import QueryType, index_by_name
from query.standard.sql.breakdown import names_profiles
from query.standard.types.active_visitors import ACTIVE_VISITORS
from query.standard.types.attribution import ATTRIBUTION
from query.standard.types.bots import BOTS
from query.standard.types.custom_events import CUSTOM_EVENTS
from query.standard.types.engagement import ENGAGEMENT
from query.standard.types.error_changes import ERROR_CHANGES
from query.standard.types.error_groups import ERROR_GROUPS
from query.standard.types.errors import ERRORS
from query.standard.types.event_properties import PROPERTIES
from query.standard.types.events import EVENTS
from query.standard.types.funnel import FUNNEL
from query.standard.types.funnel_trend import FUNNEL_TREND
from query.standard.types.goals import GOALS
from query.standard.types.imported_totals import IMPORTED
from query.standard.types.interesting_sessions import INTERESTING
from query.standard.types.lifecycle import LIFECYCLE
from query.standard.types.links import LINKS
from query.standard.types.outbound import OUTBOUND
from query.standard.types.page_quality import PAGE_QUALITY
from query.standard.types.paths import PATHS
from query.standard.types.performance import PERFORMANCE
from query.standard.types.property_classification import CLASSIFICATION
from query.standard.types.realtime import REALTIME
from query.standard.types.retention import RETENTION
from query.standard.types.session_flow import SESSION_FLOW
from query.standard.types.session_groups import SESSIONS_BY
from query.standard.types.session_lists import SESSION_LISTS
from query.standard.types.technology import TECHNOLOGY
from query.standard.types.time_on_page import PAGES
from query.standard.types.time_to_convert import TIME_TO_CONVERT
from query.standard.types.today import TODAY
from query.standard.types.top_lists import TOPS
from query.standard.types.visit_frequency import VISIT_FREQUENCY
from query.standard.types.visitor_profiles import PROFILES
from query.standard.types.visitor_timeline import TIMELINE
from query.standard.types.visitors import VISITORS
from query.standard.types.vital_metrics import METRICS
from query.standard.types.vitals import VITALS
from query.standard.types.website import WEBSITE
from schemas import tables
from schemas.errors import Malformed
from schemas.tables import Table

FAMILIES = (
    LINKS,
    OUTBOUND,
    WEBSITE,
    SESSIONS_BY,
    SESSION_FLOW,
    INTERESTING,
    SESSION_LISTS,
    PROFILES,
    TOPS,
    PAGES,
    TECHNOLOGY,
    EVENTS,
    CUSTOM_EVENTS,
    PROPERTIES,
    CLASSIFICATION,
    ERRORS,
    ERROR_GROUPS,
    ERROR_CHANGES,
    PERFORMANCE,
    VITALS,
    METRICS,
    ENGAGEMENT,
    PAGE_QUALITY,
    TODAY,
    REALTIME,
    FUNNEL,
    FUNNEL_TREND,
    GOALS,
    PATHS,
    RETENTION,
    ACTIVE_VISITORS,
    VISIT_FREQUENCY,
    LIFECYCLE,
    ATTRIBUTION,
    TIME_TO_CONVERT,
    TIMELINE,
    VISITORS,
    BOTS,
    IMPORTED,
)

QUERY_TYPES = index_by_name(*FAMILIES)


def find_query_type(name: str, kind: SubjectKind) -> QueryType:
    """The query type of that name; Malformed when there is none for this kind of subject."""
    query_type = QUERY_TYPES.get(name)
    if query_type is None:
        raise Malformed(_unknown_type(name[:100], kind))
    if query_type.subject is not kind:
        raise Malformed(f"Query type '{name}' requires '{query_type.subject}', not '{kind}'")
    return query_type


@lru_cache(100)
def _unknown_type(name: str, kind: SubjectKind) -> str:
    """The error for an unknown name; looking for a similar one takes half a millisecond."""
    known = [known for known, each in QUERY_TYPES.items() if each.subject is kind]
    advice = "GET /v1/query/types lists all query types"
    return unknown_name_message("query type", name, known, advice=advice, words=QUERY_TYPE_WORDS)


def tables_read(query: Query) -> Sequence[Table]:
    """The tables that a query reads; none when it names no type of its subject."""
    query_type = QUERY_TYPES.get(query.name)
    if query_type is None or query_type.subject is not query.subject.kind:
        return ()
    read = list(query_type.tables)
    own = query_type.table
    if tables.EVENTS not in read and any(
        names_behavior(filter_)
        or names_visit_facts(fields_named(filter_), own)
        or names_visitor_facts(fields_named(filter_))
        for filter_ in query.filters
    ):
        read.append(tables.EVENTS)
    if tables.IDENTITIES not in read and (
        query_type.reads_profiles
        or query.by_profile
        or any(map(names_profile, query.filters))
        or names_profiles(query.options)
    ):
        read.append(tables.IDENTITIES)
    return read
