"""QUERY_TYPES: every standard question by its name; one family per file."""

from query.standard.declaration.query_type import index_by_name
from query.standard.types.custom_events import CUSTOM_EVENTS
from query.standard.types.engagement import ENGAGEMENT
from query.standard.types.error_groups import ERROR_GROUPS
from query.standard.types.errors import ERRORS
from query.standard.types.event_properties import PROPERTIES
from query.standard.types.events import EVENTS
from query.standard.types.funnel import FUNNEL
from query.standard.types.goals import GOALS
from query.standard.types.interesting_sessions import INTERESTING
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
from query.standard.types.today import TODAY
from query.standard.types.top_lists import TOPS
from query.standard.types.visitor_profiles import PROFILES
from query.standard.types.visitor_timeline import TIMELINE
from query.standard.types.vital_metrics import METRICS
from query.standard.types.vitals import VITALS
from query.standard.types.website import WEBSITE

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
    PERFORMANCE,
    VITALS,
    METRICS,
    ENGAGEMENT,
    PAGE_QUALITY,
    TODAY,
    REALTIME,
    FUNNEL,
    GOALS,
    PATHS,
    RETENTION,
    TIMELINE,
)

QUERY_TYPES = index_by_name(*FAMILIES)
