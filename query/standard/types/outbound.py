"""Query types of outbound clicks."""

from msgspec import Struct

from query.prepared.outbound_clicks import OutboundClicks
from query.request.subject import SubjectKind
from query.standard.declaration.fields import Instant, Percent
from query.standard.declaration.query_type import QueryType
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
        sql="""
            SELECT COALESCE(href, '')           AS target,
                   COALESCE(link_text, '')      AS label,
                   COUNT(*)                     AS total_clicks,
                   COUNT(DISTINCT visitor_hash) AS unique_users,
                   COUNT(DISTINCT session_hash) AS unique_sessions,
                   COUNT(*)                     AS percentage_part,
                   SUM(COUNT(*)) OVER ()        AS percentage_whole,
                   MAX(ms)                      AS last_clicked
              FROM scoped
             WHERE outbound_domain IS NOT NULL
             GROUP BY COALESCE(href, ''), COALESCE(link_text, '')
             ORDER BY total_clicks DESC, target, label
        """,
    ),
    QueryType(
        name="outbound_domains",
        description="outbound clicks, and who clicked, by target domain",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=OutboundDomain,
        prepared=OutboundClicks(by_domain=True),
        sql="""
            SELECT outbound_domain              AS target,
                   COUNT(*)                     AS total_clicks,
                   COUNT(DISTINCT visitor_hash) AS unique_users,
                   COUNT(DISTINCT href)         AS unique_links,
                   COUNT(*)                     AS percentage_part,
                   SUM(COUNT(*)) OVER ()        AS percentage_whole
              FROM scoped
             WHERE outbound_domain IS NOT NULL
             GROUP BY outbound_domain
             ORDER BY total_clicks DESC, target
        """,
    ),
)
