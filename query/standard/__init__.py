"""QUERY_TYPES: every standard question by its name; one family per file."""

from query.standard.errors import ERRORS
from query.standard.events import EVENTS
from query.standard.links import LINKS
from query.standard.outbound import OUTBOUND
from query.standard.spec import QueryType, Subject, index
from query.standard.tops import TOPS
from query.standard.website import WEBSITE

FAMILIES = (LINKS, OUTBOUND, WEBSITE, TOPS, EVENTS, ERRORS)

QUERY_TYPES = index(*FAMILIES)

__all__ = ["FAMILIES", "QUERY_TYPES", "QueryType", "Subject"]
