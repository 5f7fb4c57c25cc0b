"""Page views grouped by one fact about them: pages, sources, campaigns, agents, places."""

from msgspec import Struct

from query.standard.forms import Percent
from query.standard.sessions import PAGE_VIEW
from query.standard.spec import QueryType, Subject
from schemas.tables import EVENTS


class Top(Struct, frozen=True):
    name: str
    pageviews: int
    visitors: int
    percentage: Percent


def top(
    name: str, label: str, meaning: str, *, limit: int = 100, aliases: tuple[str, ...] = ()
) -> QueryType:
    """Page views by `label`, an expression over `scoped`; those without it are left out.

    The percentage is the group's share of the visitors summed over all groups.
    """
    return QueryType(
        name=name,
        aliases=aliases,
        meaning=meaning,
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Top,
        limit=limit,
        sql=f"""
            SELECT {label}                                   AS label,
                   COUNT(*)                                  AS pageviews,
                   COUNT(DISTINCT visitor_hash)              AS visitors,
                   COUNT(DISTINCT visitor_hash)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
              FROM scoped
             WHERE {PAGE_VIEW}
               AND {label} IS NOT NULL
             GROUP BY {label}
             ORDER BY visitors DESC, pageviews DESC, label
        """,  # noqa: S608
    )


SOURCE = "COALESCE(referrer_name, referrer, 'Direct')"

TOPS = (
    top("top_pages", "path", "page views by path", aliases=("pages",)),
    top(
        "traffic_sources",
        SOURCE,
        "page views by who referred; `Direct` when nobody did or the website itself",
        aliases=("traffic",),
    ),
    top(
        "top_referrers", f"NULLIF({SOURCE}, 'Direct')", "page views by who referred, without Direct"
    ),
    top("channels", "channel", "page views by channel"),
    top("utm_sources", "utm_source", "page views by utm_source"),
    top("utm_mediums", "utm_medium", "page views by utm_medium"),
    top("utm_campaigns", "utm_campaign", "page views by utm_campaign"),
    top("utm_terms", "utm_term", "page views by utm_term"),
    top("utm_content", "utm_content", "page views by utm_content"),
    top("browser_name", "browser_name", "page views by browser"),
    top("browsers", "browser_name", "as browser_name", limit=25),
    top("os_name", "os_name", "page views by operating system"),
    top("operating_systems", "os_name", "as os_name"),
    top("device_types", "device_type", "page views by class of device", limit=20),
    top("country", "country", "page views by country"),
    top("language", "language", "page views by language of the browser"),
    top("timezone", "timezone", "page views by time zone of the browser"),
)
