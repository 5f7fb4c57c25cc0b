"""QUERY_TYPES: every standard question by its name; one family per file."""

from query.standard.classification import CLASSIFICATION
from query.standard.custom_events import CUSTOM_EVENTS
from query.standard.engagement import ENGAGEMENT
from query.standard.error_groups import ERROR_GROUPS
from query.standard.errors import ERRORS
from query.standard.events import EVENTS
from query.standard.funnel import FUNNEL
from query.standard.goals import GOALS
from query.standard.interesting import INTERESTING
from query.standard.links import LINKS
from query.standard.metrics import METRICS
from query.standard.outbound import OUTBOUND
from query.standard.page_quality import PAGE_QUALITY
from query.standard.pages import PAGES
from query.standard.paths import PATHS
from query.standard.performance import PERFORMANCE
from query.standard.profiles import PROFILES
from query.standard.properties import PROPERTIES
from query.standard.realtime import REALTIME
from query.standard.retention import RETENTION
from query.standard.session_flow import SESSION_FLOW
from query.standard.session_lists import SESSION_LISTS
from query.standard.sessions_by import SESSIONS_BY
from query.standard.spec import QueryType, Subject, index
from query.standard.technology import TECHNOLOGY
from query.standard.timeline import TIMELINE
from query.standard.today import TODAY
from query.standard.tops import TOPS
from query.standard.vitals import VITALS
from query.standard.website import WEBSITE

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

QUERY_TYPES = index(*FAMILIES)

__all__ = ["FAMILIES", "QUERY_TYPES", "QueryType", "Subject"]
