"""KINDS: the list of item kinds; each is declared in a file of `tables/` with its item and table.

Routes, OpenAPI, topics, workers, tables and custom queries follow from this list.
"""

from schemas.tables import IMPORTED_TOTALS, LEDGER, QUARANTINE, Table
from schemas.tables.clicks import CLICK
from schemas.tables.derived_table import DerivedTable
from schemas.tables.engagement import PAGE_ENGAGEMENT
from schemas.tables.errors import ERROR_REPORT
from schemas.tables.events import CUSTOM_EVENT, IMPORTED_EVENT
from schemas.tables.identities import VISITOR_IDENTITY
from schemas.tables.item_kind import Kind
from schemas.tables.sessions import SESSIONS
from schemas.tables.visitors import VISITORS
from schemas.tables.vitals import WEB_VITAL

KINDS: tuple[Kind, ...] = (
    CUSTOM_EVENT,
    WEB_VITAL,
    ERROR_REPORT,
    CLICK,
    PAGE_ENGAGEMENT,
    VISITOR_IDENTITY,
)
"""Live items."""

ALL_KINDS: tuple[Kind, ...] = (*KINDS, IMPORTED_EVENT)
"""Live and imported items; both kinds of events have one table and a topic each."""

AGING_TABLES: tuple[Table, ...] = (*(kind.table for kind in KINDS), IMPORTED_TOTALS)
"""Tables whose rows are deleted by age, and with their website or link."""

TABLES: tuple[Table, ...] = (*AGING_TABLES, QUARANTINE, LEDGER)
"""What the stream stores and the query service reads."""

DERIVED_TABLES: tuple[DerivedTable, ...] = (SESSIONS, VISITORS)
"""What the keeper computes from data files of these; may be deleted and is computed again."""


def lake_tables() -> tuple[Table, ...]:
    """All tables of the lake, derived ones last."""
    return (*TABLES, *(derived.table for derived in DERIVED_TABLES))


__all__ = [
    "AGING_TABLES",
    "ALL_KINDS",
    "CLICK",
    "CUSTOM_EVENT",
    "DERIVED_TABLES",
    "ERROR_REPORT",
    "IMPORTED_EVENT",
    "KINDS",
    "PAGE_ENGAGEMENT",
    "TABLES",
    "VISITOR_IDENTITY",
    "WEB_VITAL",
    "Kind",
    "lake_tables",
]
