"""TABLES: what the stream stores and the query service reads; one file per family of columns."""

from schemas.tables.clicks import CLICKS
from schemas.tables.column import Column, Table, Type
from schemas.tables.errors import ERRORS
from schemas.tables.events import EVENTS
from schemas.tables.side import LEDGER, QUARANTINE
from schemas.tables.vitals import VITALS

TABLES: tuple[Table, ...] = (EVENTS, VITALS, ERRORS, CLICKS, QUARANTINE, LEDGER)

__all__ = [
    "CLICKS",
    "ERRORS",
    "EVENTS",
    "LEDGER",
    "QUARANTINE",
    "TABLES",
    "VITALS",
    "Column",
    "Table",
    "Type",
]
