"""KINDS: each kind of item, declared once: name, route, item, topic and table."""

from msgspec import Struct

from schemas.items import (
    Click,
    CustomEvent,
    Engagement,
    ErrorReport,
    Identity,
    ImportedEvent,
    Item,
    Vital,
)
from schemas.tables import CLICKS, ENGAGEMENT, ERRORS, EVENTS, IDENTITIES, VITALS, Table


class Kind(Struct, frozen=True):
    """One kind of item, from the route that accepts it to the table that stores it."""

    name: str
    """`type` in the collector's response."""
    path: str
    """Route of the collector; empty when trackers do not send it."""
    item: type[Item]
    topic: str
    table: Table
    batch_only: bool = False
    """Whether the body must be an array."""


CUSTOM_EVENT = Kind("custom_event", "/track", CustomEvent, "events", EVENTS)
WEB_VITAL = Kind("web_vitals", "/vitals", Vital, "vitals", VITALS, batch_only=True)
ERROR_REPORT = Kind("error", "/errors", ErrorReport, "errors", ERRORS, batch_only=True)
CLICK = Kind("click", "", Click, "clicks", CLICKS)

PAGE_ENGAGEMENT = Kind(
    "engagement", "/engagement", Engagement, "engagement", ENGAGEMENT, batch_only=True
)
VISITOR_IDENTITY = Kind("identity", "/identify", Identity, "identities", IDENTITIES)

KINDS: tuple[Kind, ...] = (
    CUSTOM_EVENT,
    WEB_VITAL,
    ERROR_REPORT,
    CLICK,
    PAGE_ENGAGEMENT,
    VISITOR_IDENTITY,
)
"""Live items."""

IMPORTED_EVENT = Kind("import", "/import", ImportedEvent, "backfill", EVENTS)
"""Historical events; they have a topic and a worker of their own, to delay no live items."""

ALL_KINDS: tuple[Kind, ...] = (*KINDS, IMPORTED_EVENT)
