"""ORACLES: how every query type is answered by plain definitions, and the answer to a question."""

from tests.oracle.aggregates import Answer
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import Question, Seen
from tests.oracle.stored_rows import Facts
from tests.oracle.types.custom_events import CUSTOM_EVENTS
from tests.oracle.types.engagement import ENGAGEMENT
from tests.oracle.types.error_groups import ERRORS_MORE
from tests.oracle.types.errors import ERRORS
from tests.oracle.types.events import EVENTS
from tests.oracle.types.funnel_goals_paths_retention import STEPS
from tests.oracle.types.links import LINKS
from tests.oracle.types.outbound import OUTBOUND
from tests.oracle.types.page_quality import PAGE_QUALITY
from tests.oracle.types.performance import PERFORMANCE
from tests.oracle.types.realtime import REALTIME
from tests.oracle.types.session_groups import SESSIONS_BY
from tests.oracle.types.session_lists import SESSION_LISTS
from tests.oracle.types.technology import TECHNOLOGY
from tests.oracle.types.time_on_page import PAGES
from tests.oracle.types.top_lists import TOPS
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
}


def answer(held: Facts, question: Question) -> list[Answer]:
    """The rows that the service should give."""
    oracle = ORACLES[question.name]
    return paged(oracle, oracle.rows(Seen(held, question)), question)


def paged(oracle: Oracle, rows: list[Answer], question: Question) -> list[Answer]:
    """One page of them."""
    limit = question.limit or (10_000 if oracle.series else oracle.limit)
    return rows[(question.page - 1) * limit : question.page * limit]
