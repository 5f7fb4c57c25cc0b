"""Query types of load timings, from the page views or their exits that carry them."""

from msgspec import Struct, structs

from query.prepared.measured_groups import MeasuredGroups
from query.prepared.measured_tables import LOADS
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_TIMED
from query.sql.select import Cte
from query.standard.declaration.fields import Average, Date, Median
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
from schemas.tables import EVENTS


class PageLoadTime(Struct, frozen=True):
    name: str
    visitors: int
    avg_load_time: Average
    p50_load_time: Median
    avg_ttfb: Average
    avg_dom_ready_time: Average
    avg_render_time: Average
    pageviews: int


class LoadTimeByBucket(Struct, frozen=True):
    date: Date
    avg_load_time: Average
    p50_load_time: Median
    avg_ttfb: Average
    avg_dom_ready_time: Average
    avg_render_time: Average
    pageviews: int


class LoadTime(Struct, frozen=True):
    date: Date
    avg_load_time: Average
    p50_load_time: Median
    pageviews: int


class Overview(Struct, frozen=True):
    avg_load_time: Average
    avg_dom_ready_time: Average
    avg_render_time: Average


def ranked(group: str) -> Cte:
    """Page views ranked by load time within each group."""
    return Cte(
        "ranked",
        f"""
        SELECT {group} AS label,
               visitor_hash, load_time, ttfb, dom_ready_time, render_time,
               ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY load_time) AS row_rank,
               COUNT(*) OVER (PARTITION BY {group})                        AS row_count
          FROM scoped
         WHERE {IS_TIMED}
           AND {group} IS NOT NULL
        """,  # noqa: S608
    )


SLOWEST = ("p50_load_time", "pageviews")


def measured(row: type[Struct], *groups: str, first: tuple[str, ...] = ()) -> MeasuredGroups:
    """How the rows of each group are made from parts."""
    return MeasuredGroups(LOADS, groups, tuple(field.name for field in structs.fields(row)), first)


def loading(name: str, column: str, description: str) -> QueryType:
    """Load timings by one column, the slowest first."""
    return QueryType(
        name=name,
        description=f"load timings in milliseconds by {description}, of page views that carry them",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PageLoadTime,
        prepared=measured(PageLoadTime, column, first=SLOWEST),
        ctes=(ranked(column),),
        sql=grouped_rows(PageLoadTime, {"name": "label"}, first=SLOWEST, source="ranked"),
    )


def series(name: str, row: type[Struct], description: str) -> QueryType:
    """Load timings of each bucket."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=row,
        prepared=measured(row, "bucket"),
        ctes=(ranked("bucket"),),
        sql=grouped_rows(row, {"date": "label"}, source="ranked"),
    )


PERFORMANCE = (
    loading("slow_pages", "path", "path"),
    loading("performance_by_browser", "browser_name", "browser"),
    loading("performance_by_country", "country", "country"),
    loading("performance_by_os", "os_name", "operating system"),
    loading("performance_by_region", "region", "region"),
    series(
        "performance_time_series", LoadTimeByBucket, "load timings of each bucket in milliseconds"
    ),
    series("load_time_performance", LoadTime, "load times of each bucket in milliseconds"),
    QueryType(
        name="performance_overview",
        description="mean load timings of the website in milliseconds",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Overview,
        prepared=measured(Overview),
        sql=grouped_rows(Overview, where=IS_TIMED),
    ),
)
