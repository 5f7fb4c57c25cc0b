"""Questions about how pages were used, from what trackers report when a page is left."""

from msgspec import Struct

from query.standard.declaration.fields import Average, Median, Percent, Text
from query.standard.declaration.query_type import Cte, QueryType, Subject
from query.standard.sql.percentiles import mean, quantile
from schemas.tables import ENGAGEMENT as STORED

FEWEST_VIEWS = 5
"""Below it a share says nothing."""


class Frustrating(Struct, frozen=True):
    name: str
    page_views: int
    visitors: int
    rage_click_rate: Percent
    dead_click_rate: Percent
    error_rate: Percent
    top_dead_click_target: Text
    top_rage_click_target: Text


class Form(Struct, frozen=True):
    name: str
    form_starts: int
    form_submits: int
    abandonment_rate: Percent
    top_abandoned_field: Text


class Quality(Struct, frozen=True):
    name: str
    page_views: int
    avg_time_on_page: Average
    avg_active_time: Average
    attention_ratio: Percent
    avg_scroll_depth: Average
    avg_interactions: Average
    median_time_to_first_interaction: Median


def most_often(name: str, column: str, only: str) -> Cte:
    """By path, the values of a column in the order of how often they are there."""
    return Cte(
        name,
        f"""
        SELECT path      AS page,
               {column}  AS target,
               ROW_NUMBER() OVER (
                   PARTITION BY path ORDER BY COUNT(*) DESC, {column}
               )         AS place
          FROM scoped
         WHERE {only}
           AND {column} > ''
           AND path IS NOT NULL
         GROUP BY path, {column}
        """,  # noqa: S608
    )


def share(name: str, only: str) -> str:
    """The columns of a share of the rows of a group."""
    return f"COUNT(CASE WHEN {only} THEN 1 END) AS {name}_part,\nCOUNT(*) AS {name}_whole"


STARTED = "(form_field_count > 0 OR form_submit_count > 0)"
TOLD = "active_time IS NOT NULL AND time_on_page IS NOT NULL"
FIRST = "time_to_first_interaction"

RANKED = Cte(
    "ranked",
    f"""
    SELECT path, time_on_page, active_time, max_scroll_depth, interaction_count, {FIRST},
           ROW_NUMBER() OVER (PARTITION BY path, {FIRST} > 0 ORDER BY {FIRST}) AS place,
           COUNT(*) OVER (PARTITION BY path, {FIRST} > 0)                      AS places
      FROM scoped
     WHERE path IS NOT NULL
    """,  # noqa: S608
)

PAGE_QUALITY = (
    QueryType(
        name="frustration_by_page",
        meaning=f"shares of page views with rage clicks, dead clicks and errors, by path with at "
        f"least {FEWEST_VIEWS} page views; a page view counts as often as its leaving is reported",
        subject=Subject.WEBSITE,
        table=STORED,
        row=Frustrating,
        given=(
            most_often("raged", "rage_click_target", "rage_click_count > 0"),
            most_often("vain", "dead_click_target", "dead_click_count > 0"),
        ),
        sql=f"""
            SELECT path                         AS label,
                   COUNT(*)                     AS page_views,
                   COUNT(DISTINCT visitor_hash) AS visitors,
                   {share("rage_click_rate", "rage_click_count > 0")},
                   {share("dead_click_rate", "dead_click_count > 0")},
                   {share("error_rate", "error_count > 0")},
                   MAX(vain.target)             AS top_dead_click_target,
                   MAX(raged.target)            AS top_rage_click_target
              FROM scoped
              LEFT JOIN raged ON raged.page = path AND raged.place = 1
              LEFT JOIN vain ON vain.page = path AND vain.place = 1
             WHERE path IS NOT NULL
             GROUP BY path
            HAVING COUNT(*) >= {FEWEST_VIEWS}
             ORDER BY rage_click_rate_part + dead_click_rate_part + error_rate_part DESC,
                      page_views DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="form_abandonment_by_page",
        meaning="page views in which a form was begun, and those of them in which none was sent, "
        "by path",
        subject=Subject.WEBSITE,
        table=STORED,
        row=Form,
        given=(most_often("left_at", "last_form_field", f"form_abandoned AND {STARTED}"),),
        sql=f"""
            SELECT path                                                 AS label,
                   COUNT(*)                                             AS form_starts,
                   COUNT(CASE WHEN form_submit_count > 0 THEN 1 END)    AS form_submits,
                   COUNT(CASE WHEN form_abandoned THEN 1 END)           AS abandonment_rate_part,
                   COUNT(*)                                             AS abandonment_rate_whole,
                   MAX(left_at.target)                                  AS top_abandoned_field
              FROM scoped
              LEFT JOIN left_at ON left_at.page = path AND left_at.place = 1
             WHERE {STARTED}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY form_starts DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="engagement_quality_by_page",
        meaning="how long pages were open and looked at in seconds, how far they were seen in "
        "percent, and the median milliseconds until something was done, by path",
        subject=Subject.WEBSITE,
        table=STORED,
        row=Quality,
        given=(RANKED,),
        sql=f"""
            SELECT path     AS label,
                   COUNT(*) AS page_views,
                   {mean("avg_time_on_page", "time_on_page")},
                   {mean("avg_active_time", "active_time")},
                   CAST(SUM(CASE WHEN {TOLD} THEN active_time * 10000 END) AS BIGINT)
                            AS attention_ratio_part,
                   CAST(SUM(CASE WHEN {TOLD} THEN time_on_page * 10000 END) AS BIGINT)
                            AS attention_ratio_whole,
                   {mean("avg_scroll_depth", "max_scroll_depth")},
                   {mean("avg_interactions", "interaction_count")},
                   {quantile("median_time_to_first_interaction", FIRST, 50, f"{FIRST} > 0")}
              FROM ranked
             GROUP BY path
             ORDER BY page_views DESC, label
        """,  # noqa: S608
    ),
)
