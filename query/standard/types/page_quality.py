"""Query types of page quality, from the reports that trackers send when pages are hidden or left.

A page view may have several reports: one that follows the report `hidden` of the same page and
session goes on with it, unless it has a time to the first interaction, which only first reports do.
Times and counts of a page view add up; of its depths and filled-in fields the greatest counts.
"""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import ROW_ORDER, ROW_ORDER_NUMBER, last_value
from query.sql.select import Cte
from query.standard.declaration.fields import Average, Median, OptionalText, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.percentiles import mean_columns, quantile_columns
from schemas.tables import ENGAGEMENT as STORED

MIN_VIEWS = 5
"""Page views below which a share is not meaningful."""


class PageFrustration(Struct, frozen=True):
    name: str
    page_views: int
    visitors: int
    rage_click_rate: Percent
    dead_click_rate: Percent
    error_rate: Percent
    top_dead_click_target: OptionalText
    top_rage_click_target: OptionalText


class PageForm(Struct, frozen=True):
    name: str
    form_starts: int
    form_submits: int
    abandonment_rate: Percent
    top_abandoned_field: OptionalText


class PageQuality(Struct, frozen=True):
    name: str
    page_views: int
    avg_time_on_page: Average
    avg_active_time: Average
    attention_ratio: Percent
    avg_scroll_depth: Average
    avg_interactions: Average
    median_time_to_first_interaction: Median


FIRST = "time_to_first_interaction"
FIRST_OF_VIEW = f"view_{FIRST}"


def most_often(name: str, column: str, only: str, relation: str = "scoped") -> Cte:
    """The values of a column ranked within each path."""
    return Cte(
        name,
        f"""
        SELECT path     AS target_path,
               {column} AS target,
               ROW_NUMBER() OVER (
                   PARTITION BY path ORDER BY COUNT(*) DESC, {column}
               )         AS row_rank
          FROM {relation}
         WHERE {only}
           AND {column} > ''
           AND path IS NOT NULL
         GROUP BY path, {column}
        """,  # noqa: S608
    )


def share(name: str, only: str) -> str:
    """The columns of a share of the rows of a group."""
    return f"COUNT(CASE WHEN {only} THEN 1 END) AS {name}_part,\nCOUNT(*) AS {name}_whole"


REPORT_ORDER = f"PARTITION BY session_hash, path ORDER BY {ROW_ORDER_NUMBER}"
SUMMED = (
    *("time_on_page", "active_time", "interaction_count", "rage_click_count", "dead_click_count"),
    *("error_count", "form_submit_count"),
)
GREATEST = ("max_scroll_depth", "form_field_count", FIRST)
PAGE_VIEWS = (
    Cte(
        "view_parts",
        f"""
        SELECT *, SUM(begins_view) OVER ({REPORT_ORDER} ROWS UNBOUNDED PRECEDING) AS view_number
          FROM (
               SELECT path, session_hash, visitor_hash, last_form_field, {ROW_ORDER},
                      {", ".join((*SUMMED, *GREATEST))},
                      CASE WHEN session_hash IS NOT NULL
                            AND {FIRST} IS NULL
                            AND LAG(exit_type) OVER ({REPORT_ORDER}) = 'hidden'
                           THEN 0 ELSE 1 END AS begins_view
                 FROM scoped
                WHERE path IS NOT NULL
               ) AS reports
        """,  # noqa: S608
    ),
    Cte(
        "page_views",
        f"""
        SELECT path, MIN(visitor_hash) AS visitor,
               {last_value("last_form_field")} AS view_last_form_field,
               {", ".join(f"SUM({c}) AS view_{c}" for c in SUMMED)},
               {", ".join(f"MAX({c}) AS view_{c}" for c in GREATEST)}
          FROM view_parts
         GROUP BY path, session_hash, view_number
        """,  # noqa: S608
    ),
)
"""`page_views`: a row for each page view, of all its reports in the time range."""

FORM_STARTED = "(view_form_field_count > 0 OR view_form_submit_count > 0)"
ABANDONED = "view_form_field_count > 0 AND COALESCE(view_form_submit_count, 0) = 0"
HAS_TIMES = "view_active_time IS NOT NULL AND view_time_on_page IS NOT NULL"

RANKED = Cte(
    "ranked",
    f"""
    SELECT path, view_time_on_page, view_active_time, view_max_scroll_depth,
           view_interaction_count, {FIRST_OF_VIEW},
           ROW_NUMBER() OVER (
               PARTITION BY path, {FIRST_OF_VIEW} > 0 ORDER BY {FIRST_OF_VIEW}
           )                                                      AS row_rank,
           COUNT(*) OVER (PARTITION BY path, {FIRST_OF_VIEW} > 0) AS row_count
      FROM page_views
    """,  # noqa: S608
)

MEDIAN_FIRST = quantile_columns(
    "median_time_to_first_interaction", FIRST_OF_VIEW, 50, f"{FIRST_OF_VIEW} > 0"
)

PAGE_QUALITY = (
    QueryType(
        name="frustration_by_page",
        description=f"shares of page views with rage clicks, dead clicks and errors, by path with "
        f"at least {MIN_VIEWS} page views, of those that are reported",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=PageFrustration,
        ctes=(
            *PAGE_VIEWS,
            most_often("rage_targets", "rage_click_target", "rage_click_count > 0"),
            most_often("dead_targets", "dead_click_target", "dead_click_count > 0"),
        ),
        sql=f"""
            SELECT path                         AS label,
                   COUNT(*)                     AS page_views,
                   COUNT(DISTINCT visitor)      AS visitors,
                   {share("rage_click_rate", "view_rage_click_count > 0")},
                   {share("dead_click_rate", "view_dead_click_count > 0")},
                   {share("error_rate", "view_error_count > 0")},
                   MAX(dead_targets.target) AS top_dead_click_target,
                   MAX(rage_targets.target) AS top_rage_click_target
              FROM page_views
              LEFT JOIN rage_targets
                ON rage_targets.target_path = path AND rage_targets.row_rank = 1
              LEFT JOIN dead_targets
                ON dead_targets.target_path = path AND dead_targets.row_rank = 1
             GROUP BY path
            HAVING COUNT(*) >= {MIN_VIEWS}
             ORDER BY rage_click_rate_part + dead_click_rate_part + error_rate_part DESC,
                      page_views DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="form_abandonment_by_page",
        description="page views in which a form was begun, and those of them in which none was "
        "sent, by path",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=PageForm,
        ctes=(
            *PAGE_VIEWS,
            most_often("last_fields", "view_last_form_field", ABANDONED, "page_views"),
        ),
        sql=f"""
            SELECT path                                                   AS label,
                   COUNT(*)                                               AS form_starts,
                   COUNT(CASE WHEN view_form_submit_count > 0 THEN 1 END) AS form_submits,
                   COUNT(CASE WHEN {ABANDONED} THEN 1 END)                AS abandonment_rate_part,
                   COUNT(*)                                               AS abandonment_rate_whole,
                   MAX(last_fields.target)                                AS top_abandoned_field
              FROM page_views
              LEFT JOIN last_fields
                ON last_fields.target_path = path AND last_fields.row_rank = 1
             WHERE {FORM_STARTED}
             GROUP BY path
             ORDER BY form_starts DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="engagement_quality_by_page",
        description="how long pages were open and looked at in seconds, how far they were seen in "
        "percent, and the median milliseconds until something was done, by path",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=PageQuality,
        ctes=(*PAGE_VIEWS, RANKED),
        sql=f"""
            SELECT path     AS label,
                   COUNT(*) AS page_views,
                   {mean_columns("avg_time_on_page", "view_time_on_page")},
                   {mean_columns("avg_active_time", "view_active_time")},
                   CAST(SUM(CASE WHEN {HAS_TIMES} THEN view_active_time * 10000 END) AS BIGINT)
                            AS attention_ratio_part,
                   CAST(SUM(CASE WHEN {HAS_TIMES} THEN view_time_on_page * 10000 END) AS BIGINT)
                            AS attention_ratio_whole,
                   {mean_columns("avg_scroll_depth", "view_max_scroll_depth")},
                   {mean_columns("avg_interactions", "view_interaction_count")},
                   {MEDIAN_FIRST}
              FROM ranked
             GROUP BY path
             ORDER BY page_views DESC, label
        """,  # noqa: S608
    ),
)
