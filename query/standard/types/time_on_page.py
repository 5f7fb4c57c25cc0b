"""Query types of the visible time of pages."""

from collections.abc import Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.prepared.forms import Breakdown
from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Average, Median, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.declaration.stored_columns import StoredColumns
from query.standard.sql.percentiles import mean_columns, quantile_columns
from schemas.tables import EVENTS


class PagePerformance(Struct, frozen=True):
    name: str
    pageviews: int
    avg_time_on_page: Average
    visitors: int


class PageTime(Struct, frozen=True):
    name: str
    sessions_with_time: int
    visitors: int
    median_time_on_page: Median
    percentage: Percent


# The page view or its exit reports the time, whichever the tracker does.
IS_TIMED_VIEW = f"({PAGE_VIEW} OR name = '{PAGE_EXIT}') AND path IS NOT NULL"

TIME_ON_PAGE = Cte(
    "timed_views",
    f"""
    SELECT path                                                        AS label,
           visitor_hash                                                AS visitor,
           session_hash                                                AS session_key,
           time_on_page                                                AS seconds,
           ROW_NUMBER() OVER (PARTITION BY path ORDER BY time_on_page) AS row_rank,
           COUNT(*) OVER (PARTITION BY path)                           AS row_count
      FROM scoped
     WHERE {IS_TIMED_VIEW}
       AND time_on_page > 1
       AND time_on_page < 3600
    """,  # noqa: S608
)

MEAN_TIME = mean_columns("avg_time_on_page", "time_on_page")


def with_mean_time(views: Sequence[Row], times: Sequence[Row]) -> list[Row]:
    """The rows of `page_performance` from page views and visible times by path."""
    by_path = {path: tuple(columns) for path, *columns in times}
    return [
        (path, pageviews, *by_path.get(path, (None, 0)), visitors)
        for path, pageviews, visitors, *_ in views
    ]


TIMES = StoredColumns(
    statement=Statement(
        sql=f"""
            SELECT path AS label, {MEAN_TIME}
              FROM scoped
             WHERE {IS_TIMED_VIEW}
               AND time_on_page IS NOT NULL
             GROUP BY path
             ORDER BY label
        """  # noqa: S608
    ),
    join=with_mean_time,
)

PAGES = (
    QueryType(
        name="page_performance",
        description="page views by path, with the mean of the visible seconds that were reported",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PagePerformance,
        prepared=Breakdown(("path",)),
        stored_columns=TIMES,
        sql=f"""
            SELECT path                                AS label,
                   COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS pageviews,
                   {MEAN_TIME},
                   COUNT(DISTINCT CASE WHEN {PAGE_VIEW} THEN visitor_hash END) AS visitors
              FROM scoped
             WHERE {IS_TIMED_VIEW}
             GROUP BY path
            HAVING COUNT(*) FILTER (WHERE {PAGE_VIEW}) > 0
             ORDER BY visitors DESC, pageviews DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="page_time_analysis",
        description="median of the visible seconds by path, of reports over 1 second, under 1 hour",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PageTime,
        ctes=(TIME_ON_PAGE,),
        sql=f"""
            SELECT label,
                   COUNT(DISTINCT session_key) AS sessions_with_time,
                   COUNT(DISTINCT visitor)     AS visitors,
                   {quantile_columns("median_time_on_page", "seconds", 50)},
                   COUNT(DISTINCT visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor)) OVER () AS percentage_whole
              FROM timed_views
             GROUP BY label
             ORDER BY visitors DESC, sessions_with_time DESC, label
        """,  # noqa: S608
    ),
)
