"""Parses the SQL of all query types ahead of the first queries, which would wait for it."""

import asyncio
import logging

from query.sql.portable import names_in
from query.standard.query_types import FAMILIES

log = logging.getLogger(__name__)


async def parse_ahead() -> None:
    """Parse it in a thread; a text that fails is reported by its own query."""
    try:
        await asyncio.to_thread(parse_all)
    except Exception:
        log.exception("SQL was not parsed ahead")


def parse_all() -> None:
    """Parse the SQL of each type with its example options; trees and names stay in the caches."""
    for query_type in (each for family in FAMILIES for each in family):
        statement = query_type.statement(query_type.example)
        for text in (statement.sql, *(cte.sql for cte in statement.ctes)):
            names_in(text)
