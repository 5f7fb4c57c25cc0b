"""paths: sequences of pages in sessions; consecutive views of a page count once."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from query.request.subject import SubjectKind
from query.sql.select import Cte
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.page_sequences import PAGE_SEQUENCE_CTES, SESSION_WINDOW
from query.standard.sql.steps import StepText
from schemas.tables import EVENTS

MAX_STEPS = 10


class Paths(QueryOptions, frozen=True, rename={"start": "from", "end": "to"}):
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


SEEN = Cte(
    "seen",
    f"""
    SELECT visit, walker, number,
           LAG(number) OVER {SESSION_WINDOW} AS came_from,
           CAST(ROW_NUMBER() OVER {SESSION_WINDOW} AS INTEGER) AS row_rank
      FROM viewed
    """,  # noqa: S608
)


def paths_statement(options: Paths) -> Statement:
    """The requested part of each session's page sequence, and how often it occurs."""
    count = options.max_steps
    label = "".join(f" || COALESCE(' → ' || pages_{n}.page, '')" for n in range(1, count))
    named = "\n".join(
        f"LEFT JOIN pages AS pages_{n} ON pages_{n}.number = way_{n}" for n in range(count)
    )
    return Statement(
        inlined=True,
        ctes=(
            *PAGE_SEQUENCE_CTES,
            SEEN,
            _path_steps(count),
            *_ends(options),
            _selected_steps(options),
            *_path_counts(count),
        ),
        sql=f"""
            SELECT pages_0.page{label} AS label,
                   steps,
                   sessions,
                   visitors,
                   sessions              AS percentage_part,
                   SUM(sessions) OVER () AS percentage_whole
              FROM ways
              {named}
             ORDER BY sessions DESC, label, steps, visitors
        """,  # noqa: S608
        values=_values(options),
    )


def _values(options: Paths) -> dict[str, object]:
    bounds = {"way_from": options.start, "way_to": options.end}
    return {name: value for name, value in bounds.items() if value is not None}


def _path_steps(count: int) -> Cte:
    """Each page change of a session, with the pages after it."""
    in_order = "(PARTITION BY visit ORDER BY row_rank)"
    ahead = "".join(
        f",\n               LEAD(number, {n}) OVER {in_order} AS page_{n}" for n in range(1, count)
    )
    return Cte(
        "turns",
        f"""
        SELECT visit, walker,
               number AS page_0,
               CAST(ROW_NUMBER() OVER {in_order} AS INTEGER) AS turn{ahead}
          FROM seen
         WHERE came_from IS NULL
            OR came_from <> number
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
        "begun",
        """
        SELECT visit AS beginner, MIN(turn) AS first_turn
          FROM turns
          JOIN pages
            ON number = page_0
         WHERE page = $way_from
         GROUP BY visit
        """,
    )


def _path_ends(options: Paths) -> Cte:
    """First and last step of each path; sessions that do not reach the last page are left out."""
    most = options.max_steps
    if options.start is None:
        return Cte(
            "ended",
            f"""
            SELECT visit AS ender,
                   GREATEST(MIN(turn) - {most - 1}, 1) AS from_turn,
                   MIN(turn)                           AS last_turn
              FROM turns
              JOIN pages
                ON number = page_0
             WHERE page = $way_to
             GROUP BY visit
            """,  # noqa: S608
        )
    return Cte(
        "ended",
        f"""
        SELECT visit AS ender, first_turn AS from_turn, MIN(turn) AS last_turn
          FROM turns
          JOIN pages
            ON number = page_0
          JOIN begun
            ON beginner = visit
         WHERE page = $way_to
           AND turn >= first_turn
         GROUP BY visit, first_turn
        HAVING MIN(turn) - first_turn < {most}
        """,  # noqa: S608
    )


def _selected_steps(options: Paths) -> Cte:
    """The pages of each session's path; NULL beyond its end."""
    numbers = range(options.max_steps)
    if options.end is not None:
        columns = [f"CASE WHEN from_turn + {n} <= last_turn THEN page_{n} END" for n in numbers]
        where = "JOIN ended ON ender = visit AND from_turn = turn"
    else:
        columns = [f"page_{n}" for n in numbers]
        where = "WHERE turn = 1"
        if options.start is not None:
            where = "JOIN begun ON beginner = visit AND first_turn = turn"
    pages = ",\n               ".join(f"{column} AS way_{n}" for n, column in enumerate(columns))
    return Cte(
        "walked",
        f"""
        SELECT walker,
               {pages}
          FROM turns
         {where}
        """,  # noqa: S608
    )


def _path_counts(count: int) -> tuple[Cte, Cte]:
    """The distinct paths, with their sessions and visitors."""
    pages = ", ".join(f"way_{n}" for n in range(count))
    steps = " + ".join(f"CASE WHEN way_{n} IS NULL THEN 0 ELSE 1 END" for n in range(count))
    taken = Cte(
        "taken",
        f"""
        SELECT {pages}, walker, COUNT(*) AS times
          FROM walked
         GROUP BY {pages}, walker
        """,  # noqa: S608
    )
    ways = Cte(
        "ways",
        f"""
        SELECT {pages},
               {steps}       AS steps,
               SUM(times)    AS sessions,
               COUNT(walker) AS visitors
          FROM taken
         GROUP BY {pages}
        """,  # noqa: S608
    )
    return taken, ways


PATHS = (
    QueryType(
        name="paths",
        description="page paths of sessions: from a page, to a page, or from the entry page",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Path,
        options=Paths,
        sql=paths_statement,
    ),
)
