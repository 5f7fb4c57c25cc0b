"""Query types of page views grouped by one column: page, source, campaign, device, location."""

from collections.abc import Callable

from msgspec import Struct, structs

from query.prepared.forms import RollupPlan, by_row
from query.prepared.visit_breakdown import VisitPages, by_visit
from query.request.subject import SubjectKind
from query.scope.path_columns import FOLDER, PATH_GROUP
from query.sql.row_definitions import PAGE_VIEW, first_value, last_value
from query.sql.select import Cte
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
from schemas.tables import EVENTS


class TopEntry(Struct, frozen=True):
    name: str
    pageviews: int
    visitors: int
    percentage: Percent


def top_type(
    name: str,
    label: str,
    description: str,
    *,
    limit: int = 100,
    aliases: tuple[str, ...] = (),
    prepared: RollupPlan | None = None,
) -> QueryType:
    """Page views by `label`, an expression over `scoped`; those without it are left out.

    The percentage is the group's share of the visitors summed over all groups.
    """
    return QueryType(
        name=name,
        aliases=aliases,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=TopEntry,
        default_limit=limit,
        prepared=prepared or by_row(label),
        sql=grouped_rows(
            TopEntry,
            {"name": label},
            where=f"{PAGE_VIEW} AND {label} IS NOT NULL",
            first=("visitors", "pageviews"),
        ),
    )


def source_type(name: str, column: str, note: str = "") -> QueryType:
    """Page views by a fact of the visit."""
    description = f"visitors and page views by {column} of the visit{note}"
    return top_type(name, f"visit_{column}", description, prepared=by_visit(column))


class TopLocation(Struct, frozen=True):
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


def two_column_type(
    name: str, row: type[Struct], first: str, second: str, description: str
) -> QueryType:
    """Page views by two facts, the first two fields; those without the first are left out."""
    fields = [field.name for field in structs.fields(row)]
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=row,
        prepared=by_row(first, second),
        sql=grouped_rows(
            row,
            {fields[0]: first, fields[1]: f"COALESCE({second}, '')"},
            where=f"{PAGE_VIEW} AND {first} IS NOT NULL",
            first=("visitors", "pageviews"),
        ),
    )


def entry_or_exit_type(name: str, description: str, of: Callable[[str], str]) -> QueryType:
    """Sessions by entry or exit page, and the visitors of their first or last page views."""
    page = name.removesuffix("s")
    fact = f"visit_{page}"
    session_visitors = Cte(
        "session_visitors",
        f"""
        SELECT session_hash         AS session_key,
               {of("visitor_hash")} AS visitor
          FROM visit_rows
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
         GROUP BY session_hash
        """,  # noqa: S608
    )
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=TopEntry,
        ctes=(session_visitors,),
        prepared=VisitPages(page),
        sql=f"""
            SELECT {fact}                               AS label,
                   COUNT(*)                             AS pageviews,
                   COUNT(DISTINCT visitor)              AS visitors,
                   COUNT(DISTINCT visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor)) OVER () AS percentage_whole
              FROM session_visitors
              JOIN visit_facts
                ON visit_session = session_key
             WHERE {fact} IS NOT NULL
             GROUP BY {fact}
             ORDER BY visitors DESC, pageviews DESC, label
        """,  # noqa: S608
    )


SOURCE = "COALESCE(visit_referrer_name, visit_referrer, 'Direct')"
"""The referrer of the visit."""
TAGGED_SOURCE = f"COALESCE(NULLIF({SOURCE}, 'Direct'), visit_utm_source, 'Direct')"
"""The referrer of the visit, else the source that its link was tagged with."""

TOPS = (
    top_type("top_pages", "path", "visitors and page views by path", aliases=("pages",)),
    top_type(
        "top_path_groups",
        PATH_GROUP,
        "visitors and page views by path group: the first saved one, the oldest first, that has "
        "the path",
    ),
    top_type(
        "top_folders",
        FOLDER,
        "visitors and page views by folder: the first part of the path, such as /blog",
    ),
    top_type(
        "traffic_sources",
        SOURCE,
        "visitors and page views by referrer of the visit; `Direct` without one, or when it "
        "is the website itself",
        aliases=("traffic",),
        prepared=by_visit("referrer_name", "referrer", otherwise="Direct"),
    ),
    top_type(
        "top_referrers",
        f"NULLIF({SOURCE}, 'Direct')",
        "visitors and page views by referrer, without `Direct`",
        prepared=by_visit("referrer_name", "referrer", left_out="Direct"),
    ),
    source_type(
        "channels",
        "channel",
        "; `Direct` has neither a referrer nor a campaign, so that it may count fewer than the "
        "source `Direct`, which has no referrer",
    ),
    source_type("utm_sources", "utm_source"),
    source_type("utm_mediums", "utm_medium"),
    source_type("utm_campaigns", "utm_campaign"),
    source_type("utm_terms", "utm_term"),
    source_type("utm_content", "utm_content"),
    top_type("browser_name", "browser_name", "visitors and page views by browser"),
    top_type("browsers", "browser_name", "as browser_name", limit=25),
    top_type("os_name", "os_name", "visitors and page views by operating system"),
    top_type("operating_systems", "os_name", "as os_name"),
    top_type("device_types", "device_type", "visitors and page views by device type", limit=20),
    top_type("country", "country", "visitors and page views by country"),
    top_type("language", "language", "visitors and page views by language of the browser"),
    top_type("timezone", "timezone", "visitors and page views by time zone of the browser"),
    two_column_type(
        "region", TopLocation, "region", "country", "visitors and page views by region and country"
    ),
    two_column_type(
        "city", TopLocation, "city", "country", "visitors and page views by city and country"
    ),
    two_column_type(
        "browser_versions",
        BrowserVersion,
        "browser_name",
        "browser_version",
        "visitors and page views by browser and version",
    ),
    entry_or_exit_type(
        "entry_pages", "visitors and sessions by path of their first page view", first_value
    ),
    entry_or_exit_type(
        "exit_pages", "visitors and sessions by path of their last page view", last_value
    ),
)
