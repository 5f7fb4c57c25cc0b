"""Query types of the visible time of pages."""

from collections.abc import Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.prepared.forms import Breakdown
from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Average, Median, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement, StoredColumns
from query.standard.sql.page_view_reports import (
    VIEW_REPORTS,
    VIEWS_OF_VISITORS,
    view_report_ctes,
)
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


TIMED = Cte(
    "timed_views",
    f"""
    SELECT view_path, view_visitor, view_session, seconds,
           ROW_NUMBER() OVER (PARTITION BY view_path ORDER BY seconds) AS row_rank,
           COUNT(*) OVER (PARTITION BY view_path)                      AS row_count
      FROM {VIEW_REPORTS}
     WHERE view_path IS NOT NULL
       AND seconds > 1
       AND seconds < 3600
    """,  # noqa: S608
)

MEAN_TIMES = Cte(
    "mean_times",
    f"""
    SELECT view_path AS timed_path, {mean_columns("avg_time_on_page", "seconds")}
      FROM {VIEW_REPORTS}
     GROUP BY view_path
    """,  # noqa: S608
)


def with_mean_time(views: Sequence[Row], times: Sequence[Row]) -> list[Row]:
    """The rows of `page_performance` from page views and visible times by path."""
    by_path = {path: tuple(columns) for path, *columns in times}
    return [
        (path, pageviews, *by_path.get(path, (None, 0)), visitors)
        for path, pageviews, visitors, *_ in views
    ]


TIMES = StoredColumns(
    statement=Statement(
        ctes=(*view_report_ctes({}), MEAN_TIMES),
        sql="""
            SELECT timed_path, avg_time_on_page_sum, avg_time_on_page_count
              FROM mean_times
             ORDER BY timed_path
        """,
    ),
    join=with_mean_time,
)

PAGES = (
    QueryType(
        name="page_performance",
        description="page views by path, with the mean visible seconds of those that were reported",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PagePerformance,
        prepared=Breakdown(("path",)),
        stored_columns=TIMES,
        ctes=(*view_report_ctes({}), MEAN_TIMES),
        sql=f"""
            SELECT path                                     AS label,
                   COUNT(*)                                 AS pageviews,
                   MAX(avg_time_on_page_sum)                AS avg_time_on_page_sum,
                   COALESCE(MAX(avg_time_on_page_count), 0) AS avg_time_on_page_count,
                   COUNT(DISTINCT visitor_hash)             AS visitors
              FROM scoped
              LEFT JOIN mean_times
                ON timed_path = path
             WHERE {PAGE_VIEW}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY visitors DESC, pageviews DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="page_time_analysis",
        description="median of the visible seconds of page views by path, of those over 1 second, "
        "under 1 hour",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PageTime,
        ctes=(*VIEWS_OF_VISITORS, TIMED),
        sql=f"""
            SELECT view_path                    AS label,
                   COUNT(DISTINCT view_session) AS sessions_with_time,
                   COUNT(DISTINCT view_visitor) AS visitors,
                   {quantile_columns("median_time_on_page", "seconds", 50)},
                   COUNT(DISTINCT view_visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT view_visitor)) OVER () AS percentage_whole
              FROM timed_views
             GROUP BY view_path
             ORDER BY visitors DESC, sessions_with_time DESC, label
        """,  # noqa: S608
    ),
)
