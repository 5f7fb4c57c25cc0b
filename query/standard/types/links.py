"""Query types of one short link."""

from collections.abc import Mapping

from msgspec import Struct

from query.request.subject import SubjectKind
from query.standard.declaration.fields import Date
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
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


REFERRER = "COALESCE(referrer_name, referrer, 'Direct')"
KNOWN_REFERRER = f"NULLIF({REFERRER}, 'Direct')"
COUNTRY = "COALESCE(country, 'Unknown')"


def link_type(
    name: str,
    row: type[Struct],
    description: str,
    groups: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    *,
    limit: int = 100,
) -> QueryType:
    """Clicks by groups, those with most clicks first."""
    is_list = groups is not None and "date" not in groups
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=row,
        default_limit=limit,
        sql=grouped_rows(row, groups, first=("clicks",) if is_list else (), measures=measures),
    )


def top_type(name: str, column: str, description: str, limit: int = 10) -> QueryType:
    """Clicks by a column."""
    groups = {"name": f"COALESCE({column}, 'Unknown')"}
    return link_type(name, LinkShare, description, groups, limit=limit)


def location_type(name: str, column: str, description: str) -> QueryType:
    """Clicks by a column and country."""
    groups = {"name": f"COALESCE({column}, 'Unknown')", "country": "COALESCE(country, '')"}
    return link_type(name, LinkCountry, description, groups, limit=10)


def distinct_type(name: str, value: str, description: str) -> QueryType:
    """Distinct values of each bucket."""
    measures = {"value": f"COUNT(DISTINCT {value})"}
    return link_type(name, ValuesOfBucket, description, {"date": "bucket"}, measures)


LINKS = (
    link_type("link_total_clicks", TotalClicks, "clicks of the link"),
    link_type(
        "link_clicks_by_day",
        ClicksOfBucket,
        "clicks of each day, or of each hour when `granularity` is `hourly`",
        {"date": "bucket"},
    ),
    link_type(
        "link_top_referrers",
        LinkReferrer,
        "clicks by referrer; `Direct` without one",
        {"name": REFERRER},
        # Several addresses of one referrer are one row, shown with the first of them.
        {"referrer": "COALESCE(MIN(referrer), 'Direct')"},
        limit=10,
    ),
    top_type("link_top_devices", "device_type", "clicks by device type", limit=100),
    top_type("link_top_browsers", "browser_name", "clicks by browser"),
    link_type(
        "link_top_countries",
        LinkCountry,
        "clicks by country",
        {"name": COUNTRY, "country": COUNTRY},
        limit=10,
    ),
    distinct_type(
        "link_referrers_by_day",
        KNOWN_REFERRER,
        "distinct referrers of each bucket, without `Direct`",
    ),
    distinct_type("link_countries_by_day", "country", "distinct countries of each bucket"),
    location_type("link_top_regions", "region", "clicks by region and country"),
    location_type("link_top_cities", "city", "clicks by city and country"),
)
