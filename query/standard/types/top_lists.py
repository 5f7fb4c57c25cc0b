"""Page views grouped by one fact about them: pages, sources, campaigns, agents, places."""

from collections.abc import Callable

from msgspec import Struct

from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import Cte, QueryType, Subject
from query.standard.sql.attribution import attributed
from query.standard.sql.definitions import PAGE_VIEW, earliest, latest
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


def sourced(name: str, label: str, meaning: str, aliases: tuple[str, ...] = ()) -> QueryType:
    """As `top`, with the value of the session's first page view for all of its page views."""
    return QueryType(
        name=name,
        aliases=aliases,
        meaning=meaning,
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Top,
        given=attributed(label),
        sql="""
            SELECT origin                               AS label,
                   COUNT(*)                             AS pageviews,
                   COUNT(DISTINCT visitor)              AS visitors,
                   COUNT(DISTINCT visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor)) OVER () AS percentage_whole
              FROM attributed
             WHERE origin IS NOT NULL
             GROUP BY origin
             ORDER BY visitors DESC, pageviews DESC, label
        """,
    )


class Place(Struct, frozen=True):
    name: str
    country: str
    pageviews: int
    visitors: int
    percentage: Percent


class BrowserVersion(Struct, frozen=True):
    browser_name: str
    browser_version: str
    pageviews: int
    visitors: int
    percentage: Percent


def pair(name: str, row: type[Struct], first: str, second: str, meaning: str) -> QueryType:
    """Page views by two facts; those without the first are left out."""
    return QueryType(
        name=name,
        meaning=meaning,
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=row,
        sql=f"""
            SELECT {first}                                   AS label,
                   COALESCE({second}, '')                    AS beside,
                   COUNT(*)                                  AS pageviews,
                   COUNT(DISTINCT visitor_hash)              AS visitors,
                   COUNT(DISTINCT visitor_hash)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
              FROM scoped
             WHERE {PAGE_VIEW}
               AND {first} IS NOT NULL
             GROUP BY {first}, COALESCE({second}, '')
             ORDER BY visitors DESC, pageviews DESC, label, beside
        """,  # noqa: S608
    )


def edge(name: str, meaning: str, of: Callable[[str], str]) -> QueryType:
    """The first or last page view of each session, by path."""
    edges = Cte(
        "edges",
        f"""
        SELECT {of("path")}         AS label,
               {of("visitor_hash")} AS visitor
          FROM scoped
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
         GROUP BY session_hash
        """,  # noqa: S608
    )
    return QueryType(
        name=name,
        meaning=meaning,
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Top,
        given=(edges,),
        sql="""
            SELECT label,
                   COUNT(*)                             AS pageviews,
                   COUNT(DISTINCT visitor)              AS visitors,
                   COUNT(DISTINCT visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor)) OVER () AS percentage_whole
              FROM edges
             WHERE label IS NOT NULL
             GROUP BY label
             ORDER BY visitors DESC, pageviews DESC, label
        """,
    )


SOURCE = "COALESCE(referrer_name, referrer, 'Direct')"

TOPS = (
    top("top_pages", "path", "page views by path", aliases=("pages",)),
    sourced(
        "traffic_sources",
        SOURCE,
        "page views by who referred; `Direct` when nobody did or the website itself",
        aliases=("traffic",),
    ),
    sourced(
        "top_referrers", f"NULLIF({SOURCE}, 'Direct')", "page views by who referred, without Direct"
    ),
    sourced("channels", "channel", "page views by channel"),
    sourced("utm_sources", "utm_source", "page views by utm_source"),
    sourced("utm_mediums", "utm_medium", "page views by utm_medium"),
    sourced("utm_campaigns", "utm_campaign", "page views by utm_campaign"),
    sourced("utm_terms", "utm_term", "page views by utm_term"),
    sourced("utm_content", "utm_content", "page views by utm_content"),
    top("browser_name", "browser_name", "page views by browser"),
    top("browsers", "browser_name", "as browser_name", limit=25),
    top("os_name", "os_name", "page views by operating system"),
    top("operating_systems", "os_name", "as os_name"),
    top("device_types", "device_type", "page views by class of device", limit=20),
    top("country", "country", "page views by country"),
    top("language", "language", "page views by language of the browser"),
    top("timezone", "timezone", "page views by time zone of the browser"),
    pair("region", Place, "region", "country", "page views by region and country"),
    pair("city", Place, "city", "country", "page views by city and country"),
    pair(
        "browser_versions",
        BrowserVersion,
        "browser_name",
        "browser_version",
        "page views by browser and version",
    ),
    edge("entry_pages", "first page views of sessions, by path", earliest),
    edge("exit_pages", "last page views of sessions, by path", latest),
)
