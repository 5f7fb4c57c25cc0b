"""Tables that the stream stores and the query service reads; one file per kind of item."""

from schemas.tables.clicks import CLICKS
from schemas.tables.column import Column, ColumnType, Table
from schemas.tables.derived_table import DerivedTable
from schemas.tables.engagement import ENGAGEMENT
from schemas.tables.errors import ERRORS
from schemas.tables.events import EVENTS
from schemas.tables.identities import IDENTITIES
from schemas.tables.imported_totals import IMPORTED_TOTALS
from schemas.tables.quarantine_and_ledger import LEDGER, QUARANTINE
from schemas.tables.sessions import SESSIONS
from schemas.tables.visitors import VISITORS
from schemas.tables.vitals import VITALS

__all__ = [
    "CLICKS",
    "ENGAGEMENT",
    "ERRORS",
    "EVENTS",
    "IDENTITIES",
    "IMPORTED_TOTALS",
    "LEDGER",
    "QUARANTINE",
    "SESSIONS",
    "VISITORS",
    "VITALS",
    "Column",
    "ColumnType",
    "DerivedTable",
    "Table",
]
