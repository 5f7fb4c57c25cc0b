"""Query types of one short link."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.standard.declaration.fields import Date
from query.standard.declaration.query_type import QueryType
from schemas.tables import CLICKS


class TotalClicks(Struct, frozen=True):
    total: int


class ClicksOfBucket(Struct, frozen=True):
    date: Date
    clicks: int


class ValuesOfBucket(Struct, frozen=True):
    date: Date
    value: int


class LinkReferrer(Struct, frozen=True):
    name: str
    referrer: str
    clicks: int


class LinkShare(Struct, frozen=True):
    name: str
    clicks: int


class LinkCountry(Struct, frozen=True):
    name: str
    country: str
    clicks: int


def _top(name: str, column: str, description: str, limit: int = 10) -> QueryType:
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=LinkShare,
        default_limit=limit,
        sql=f"""
            SELECT COALESCE({column}, 'Unknown') AS label,
                   COUNT(*)                      AS clicks
              FROM scoped
             GROUP BY COALESCE({column}, 'Unknown')
             ORDER BY clicks DESC, label
        """,  # noqa: S608
    )


def _top_locations(name: str, column: str, description: str) -> QueryType:
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=LinkCountry,
        default_limit=10,
        sql=f"""
            SELECT COALESCE({column}, 'Unknown') AS label,
                   COALESCE(country, '')         AS country_label,
                   COUNT(*)                      AS clicks
              FROM scoped
             GROUP BY COALESCE({column}, 'Unknown'), COALESCE(country, '')
             ORDER BY clicks DESC, label, country_label
        """,  # noqa: S608
    )


def _distinct_values(name: str, value: str, description: str) -> QueryType:
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=ValuesOfBucket,
        sql=f"""
            SELECT bucket,
                   COUNT(DISTINCT {value}) AS distinct_values
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
        """,  # noqa: S608
    )


REFERRER = "NULLIF(COALESCE(referrer_name, referrer, 'Direct'), 'Direct')"

LINKS = (
    QueryType(
        name="link_total_clicks",
        description="clicks of the link",
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=TotalClicks,
        sql="""
            SELECT COUNT(*) AS total
              FROM scoped
             ORDER BY total
        """,
    ),
    QueryType(
        name="link_clicks_by_day",
        description="clicks of each day, or of each hour when `granularity` is `hourly`",
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=ClicksOfBucket,
        sql="""
            SELECT bucket,
                   COUNT(*) AS clicks
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
        """,
    ),
    QueryType(
        name="link_top_referrers",
        description="clicks by referrer; `Direct` without one",
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=LinkReferrer,
        default_limit=10,
        # Several addresses of one referrer are one row, shown with the first of them.
        sql="""
            SELECT COALESCE(referrer_name, referrer, 'Direct') AS label,
                   COALESCE(MIN(referrer), 'Direct')           AS address,
                   COUNT(*)                                    AS clicks
              FROM scoped
             GROUP BY COALESCE(referrer_name, referrer, 'Direct')
             ORDER BY clicks DESC, label
        """,
    ),
    _top("link_top_devices", "device_type", "clicks by device type", limit=100),
    _top("link_top_browsers", "browser_name", "clicks by browser"),
    QueryType(
        name="link_top_countries",
        description="clicks by country",
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=LinkCountry,
        default_limit=10,
        sql="""
            SELECT COALESCE(country, 'Unknown') AS label,
                   COALESCE(country, 'Unknown') AS country_label,
                   COUNT(*)                     AS clicks
              FROM scoped
             GROUP BY COALESCE(country, 'Unknown')
             ORDER BY clicks DESC, label
        """,
    ),
    _distinct_values(
        "link_referrers_by_day", REFERRER, "distinct referrers of each bucket, without `Direct`"
    ),
    _distinct_values("link_countries_by_day", "country", "distinct countries of each bucket"),
    _top_locations("link_top_regions", "region", "clicks by region and country"),
    _top_locations("link_top_cities", "city", "clicks by city and country"),
)
