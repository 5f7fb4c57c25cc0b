"""paths: sequences of pages in sessions; consecutive views of a page count once.

With a breakdown each session belongs to one group, by the value of its first page view.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from query.prepared.page_paths import PagePaths
from query.request.subject import SubjectKind
from query.sql.select import Cte
from query.standard.declaration.fields import Group, Other, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.breakdown import (
    GROUP_CTES,
    JOIN_GROUPS,
    Breakdown,
    BreakdownOptions,
    absent_fields,
    parse_breakdown,
)
from query.standard.sql.page_sequences import (
    IS_SESSION_VIEW,
    PAGE_SEQUENCE_CTES,
    SESSION_WINDOW,
)
from query.standard.sql.steps import StepText
from schemas.tables import EVENTS

MAX_STEPS = 10


class Paths(BreakdownOptions, frozen=True, rename={"start": "from", "end": "to"}):
    """Options of the request: first page, last page and length of the paths."""

    start: StepText | None = None
    end: StepText | None = None
    max_steps: Annotated[int, Meta(ge=2, le=MAX_STEPS)] = 5


class Path(Struct, frozen=True):
    name: str
    steps: int
    sessions: int
    visitors: int
    percentage: Percent
    breakdown: Group = UNSET
    other: Other = UNSET


ORDERED_VIEWS = Cte(
    "ordered_views",
    f"""
    SELECT session_key, visitor_key, number,
           LAG(number) OVER {SESSION_WINDOW} AS previous_page,
           CAST(ROW_NUMBER() OVER {SESSION_WINDOW} AS INTEGER) AS row_rank
      FROM session_page_views
    """,  # noqa: S608
)


def paths_statement(options: Paths) -> Statement:
    """The requested part of each session's page sequence, and how often it occurs."""
    breakdown = parse_breakdown(options)
    group = GROUP_LIST if breakdown else ""
    whole = "OVER (PARTITION BY group_rank)" if breakdown else "OVER ()"
    columns = "chosen_value, is_other, group_rank" if breakdown else "CAST(NULL AS TEXT), 0"
    return Statement(
        inlined=True,
        ctes=(
            *path_ctes(options, breakdown),
            *_path_counts(options.max_steps, group),
        ),
        sql=f"""
            SELECT {path_label(options.max_steps)} AS label,
                   steps,
                   sessions,
                   visitors,
                   sessions              AS percentage_part,
                   SUM(sessions) {whole} AS percentage_whole,
                   {columns}
              FROM path_counts
              {name_pages(options.max_steps)}
             ORDER BY sessions DESC, label, steps, visitors{", group_rank" if breakdown else ""}
        """,  # noqa: S608
        values=path_values(options, breakdown),
        absent=absent_fields(breakdown),
    )


def prepared_paths(options: Paths) -> PagePaths | None:
    """The paths from rollups; these have no groups."""
    return None if options.breakdown else PagePaths(options.start, options.end, options.max_steps)


def path_ctes(options: Paths, breakdown: Breakdown | None) -> tuple[Cte, ...]:
    """The CTEs up to `session_paths`: the path of each session, with the group of the session."""
    return (
        *PAGE_SEQUENCE_CTES,
        ORDERED_VIEWS,
        _path_steps(options.max_steps),
        *_ends(options),
        _selected_steps(options),
        *_groups(breakdown),
        Cte("session_paths", WITH_GROUPS if breakdown else "SELECT * FROM path_steps"),
    )


def path_label(count: int) -> str:
    """The pages of a path as text."""
    return "pages_0.page" + "".join(
        f" || COALESCE(' → ' || pages_{n}.page, '')" for n in range(1, count)
    )


def name_pages(count: int) -> str:
    """Joins that give the numbered pages of a path their names."""
    return "\n".join(
        f"LEFT JOIN pages AS pages_{n} ON pages_{n}.number = step_{n}" for n in range(count)
    )


def path_values(options: Paths, breakdown: Breakdown | None) -> dict[str, object]:
    """The bound values of the CTEs."""
    bounds = {"first_page": options.start, "last_page": options.end}
    return {
        **{name: value for name, value in bounds.items() if value is not None},
        **(breakdown.values if breakdown else {}),
    }


GROUP_LIST = ", group_rank, chosen_value, is_other"
WITH_GROUPS = f"""
    SELECT path_steps.*{GROUP_LIST}, member_value
      FROM path_steps
      JOIN session_values
        ON valued_session = session_key
      {JOIN_GROUPS}
"""  # noqa: S608


def _groups(breakdown: Breakdown | None) -> tuple[Cte, ...]:
    """The value of each session, that of its first page view, and the groups of the values."""
    if breakdown is None:
        return ()
    values = f"""
        SELECT session_hash AS valued_session, {breakdown.of_first_row} AS breakdown_value
          FROM visit_rows
         WHERE {IS_SESSION_VIEW}
         GROUP BY session_hash
    """  # noqa: S608
    sizes = """
        SELECT breakdown_value, COUNT(*) AS value_size
          FROM path_steps
          JOIN session_values
            ON valued_session = session_key
         GROUP BY breakdown_value
    """
    return (Cte("session_values", values), Cte("value_sizes", sizes), *GROUP_CTES)


def _path_steps(count: int) -> Cte:
    """Each page change of a session, with the pages after it."""
    in_order = "(PARTITION BY session_key ORDER BY row_rank)"
    ahead = "".join(
        f",\n               LEAD(number, {n}) OVER {in_order} AS page_{n}" for n in range(1, count)
    )
    return Cte(
        "page_changes",
        f"""
        SELECT session_key, visitor_key,
               number AS page_0,
               CAST(ROW_NUMBER() OVER {in_order} AS INTEGER) AS step_number{ahead}
          FROM ordered_views
         WHERE previous_page IS NULL
            OR previous_page <> number
        """,  # noqa: S608
    )


def _ends(options: Paths) -> Sequence[Cte]:
    """The steps at which paths begin and end, when the request fixes them."""
    begun = (_path_starts(),) if options.start is not None else ()
    ended = (_path_ends(options),) if options.end is not None else ()
    return (*begun, *ended)


def _path_starts() -> Cte:
    """The first step at which a path can begin."""
    return Cte(
        "path_starts",
        """
        SELECT session_key AS start_session, MIN(step_number) AS first_step
          FROM page_changes
          JOIN pages
            ON number = page_0
         WHERE page = $first_page
         GROUP BY session_key
        """,
    )


def _path_ends(options: Paths) -> Cte:
    """First and last step of each path; sessions that do not reach the last page are left out."""
    most = options.max_steps
    if options.start is None:
        return Cte(
            "path_ends",
            f"""
            SELECT session_key                                AS end_session,
                   GREATEST(MIN(step_number) - {most - 1}, 1) AS from_step,
                   MIN(step_number)                           AS last_step
              FROM page_changes
              JOIN pages
                ON number = page_0
             WHERE page = $last_page
             GROUP BY session_key
            """,  # noqa: S608
        )
    return Cte(
        "path_ends",
        f"""
        SELECT session_key AS end_session, first_step AS from_step, MIN(step_number) AS last_step
          FROM page_changes
          JOIN pages
            ON number = page_0
          JOIN path_starts
            ON start_session = session_key
         WHERE page = $last_page
           AND step_number >= first_step
         GROUP BY session_key, first_step
        HAVING MIN(step_number) - first_step < {most}
        """,  # noqa: S608
    )


def _selected_steps(options: Paths) -> Cte:
    """The pages of each session's path; NULL beyond its end."""
    numbers = range(options.max_steps)
    if options.end is not None:
        columns = [f"CASE WHEN from_step + {n} <= last_step THEN page_{n} END" for n in numbers]
        where = "JOIN path_ends ON end_session = session_key AND from_step = step_number"
    else:
        columns = [f"page_{n}" for n in numbers]
        where = "WHERE step_number = 1"
        if options.start is not None:
            where = "JOIN path_starts ON start_session = session_key AND first_step = step_number"
    pages = ",\n               ".join(f"{column} AS step_{n}" for n, column in enumerate(columns))
    return Cte(
        "path_steps",
        f"""
        SELECT session_key, visitor_key,
               {pages}
          FROM page_changes
         {where}
        """,  # noqa: S608
    )


def _path_counts(count: int, group: str) -> tuple[Cte, Cte]:
    """The distinct paths, with their sessions and visitors, in each group."""
    pages = ", ".join(f"step_{n}" for n in range(count))
    steps = " + ".join(f"CASE WHEN step_{n} IS NULL THEN 0 ELSE 1 END" for n in range(count))
    visitor_paths = Cte(
        "visitor_paths",
        f"""
        SELECT {pages}, visitor_key{group}, COUNT(*) AS visitor_sessions
          FROM session_paths
         GROUP BY {pages}, visitor_key{group}
        """,  # noqa: S608
    )
    path_counts = Cte(
        "path_counts",
        f"""
        SELECT {pages}{group},
               {steps}               AS steps,
               SUM(visitor_sessions) AS sessions,
               COUNT(visitor_key)    AS visitors
          FROM visitor_paths
         GROUP BY {pages}{group}
        """,  # noqa: S608
    )
    return visitor_paths, path_counts


PATHS = (
    QueryType(
        name="paths",
        description="page paths of sessions: from a page, to a page, or from the entry page",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Path,
        options=Paths,
        sql=paths_statement,
        prepared=prepared_paths,
    ),
)
