"""ORACLES: one for every query type; the expected result of a query."""

from tests.oracle.aggregates import ResultRow
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows, StandardQuery
from tests.oracle.stored_rows import RowsByTable
from tests.oracle.types.active_visitors import ACTIVE
from tests.oracle.types.attribution import ATTRIBUTION
from tests.oracle.types.bots import BOTS
from tests.oracle.types.custom_events import CUSTOM_EVENTS
from tests.oracle.types.engagement import ENGAGEMENT
from tests.oracle.types.error_groups import ERRORS_MORE
from tests.oracle.types.errors import ERRORS
from tests.oracle.types.events import EVENTS
from tests.oracle.types.funnel_goals_paths_retention import STEPS
from tests.oracle.types.imported_totals import IMPORTED
from tests.oracle.types.links import LINKS
from tests.oracle.types.outbound import OUTBOUND
from tests.oracle.types.page_quality import PAGE_QUALITY
from tests.oracle.types.performance import PERFORMANCE
from tests.oracle.types.realtime import REALTIME
from tests.oracle.types.session_groups import SESSIONS_BY
from tests.oracle.types.session_lists import SESSION_LISTS
from tests.oracle.types.technology import TECHNOLOGY
from tests.oracle.types.time_on_page import PAGES
from tests.oracle.types.time_to_convert import CONVERSION_TIMES
from tests.oracle.types.top_lists import TOPS
from tests.oracle.types.visit_frequency import FREQUENCY
from tests.oracle.types.visitors import VISITORS
from tests.oracle.types.vitals import VITALS
from tests.oracle.types.website import WEBSITE

ORACLES: Oracles = {
    **LINKS,
    **OUTBOUND,
    **WEBSITE,
    **SESSIONS_BY,
    **TOPS,
    **PAGES,
    **TECHNOLOGY,
    **EVENTS,
    **ERRORS,
    **ERRORS_MORE,
    **PERFORMANCE,
    **VITALS,
    **CUSTOM_EVENTS,
    **SESSION_LISTS,
    **ENGAGEMENT,
    **PAGE_QUALITY,
    **REALTIME,
    **STEPS,
    **ACTIVE,
    **FREQUENCY,
    **ATTRIBUTION,
    **CONVERSION_TIMES,
    **VISITORS,
    **BOTS,
    **IMPORTED,
}


def expected_result(held: RowsByTable, query: StandardQuery) -> list[ResultRow]:
    """The rows that the service should give."""
    oracle = ORACLES[query.name]
    return paged(oracle, oracle.rows(ScopedRows(held, query)), query)


def paged(oracle: Oracle, rows: list[ResultRow], query: StandardQuery) -> list[ResultRow]:
    """One page of them."""
    limit = query.limit or (10_000 if oracle.series else oracle.limit)
    return rows[(query.page - 1) * limit : query.page * limit]
