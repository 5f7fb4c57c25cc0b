"""Query types of outbound clicks."""

from msgspec import Struct

from query.prepared.custom_events import OutboundClicks
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_OUTBOUND
from query.standard.declaration.fields import Instant, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import ROWS, grouped_rows
from schemas.tables import EVENTS


class OutboundLink(Struct, frozen=True):
    href: str
    text: str
    total_clicks: int
    unique_users: int
    unique_sessions: int
    percentage: Percent
    last_clicked: Instant


class OutboundDomain(Struct, frozen=True):
    domain: str
    total_clicks: int
    unique_users: int
    unique_links: int
    percentage: Percent


OUTBOUND = (
    QueryType(
        name="outbound_links",
        description="outbound clicks, and who clicked, by link; percentage of all outbound clicks",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=OutboundLink,
        prepared=OutboundClicks(by_domain=False),
        sql=grouped_rows(
            OutboundLink,
            {"href": "COALESCE(href, '')", "text": "COALESCE(link_text, '')"},
            where=IS_OUTBOUND,
            first=("total_clicks",),
            share_of=ROWS,
        ),
    ),
    QueryType(
        name="outbound_domains",
        description="outbound clicks, and who clicked, by target domain",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=OutboundDomain,
        prepared=OutboundClicks(by_domain=True),
        sql=grouped_rows(
            OutboundDomain,
            {"domain": "outbound_domain"},
            where=IS_OUTBOUND,
            first=("total_clicks",),
            measures={"unique_links": "COUNT(DISTINCT href)"},
            share_of=ROWS,
        ),
    ),
)
