"""paths: the ways that sessions take through pages; views of the same page in a row are one."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from query.request.subject import SubjectKind
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Cte, Statement
from query.standard.sql.page_sequences import PAGE_SEQUENCE_CTES, SESSION_WINDOW
from query.standard.sql.steps import StepText
from schemas.tables import EVENTS

MAX_STEPS = 10


class Paths(QueryOptions, frozen=True, rename={"start": "from", "end": "to"}):
    """What the request says: where ways begin, where they end, and how many pages they have."""

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
           CAST(ROW_NUMBER() OVER {SESSION_WINDOW} AS INTEGER) AS place
      FROM viewed
    """,  # noqa: S608
)


def paths_statement(asked: Paths) -> Statement:
    """The stretch of each session's pages that is asked, and how often it occurs."""
    count = asked.max_steps
    shown = "".join(f" || COALESCE(' → ' || pages_{n}.page, '')" for n in range(1, count))
    named = "\n".join(
        f"LEFT JOIN pages AS pages_{n} ON pages_{n}.number = way_{n}" for n in range(count)
    )
    return Statement(
        not_materialized=True,
        ctes=(
            *PAGE_SEQUENCE_CTES,
            SEEN,
            _path_steps(count),
            *_ends(asked),
            _selected_steps(asked),
            *_path_counts(count),
        ),
        sql=f"""
            SELECT pages_0.page{shown} AS label,
                   steps,
                   sessions,
                   visitors,
                   sessions              AS percentage_part,
                   SUM(sessions) OVER () AS percentage_whole
              FROM ways
              {named}
             ORDER BY sessions DESC, label, steps, visitors
        """,  # noqa: S608
        values=_values(asked),
    )


def _values(asked: Paths) -> dict[str, object]:
    given = {"way_from": asked.start, "way_to": asked.end}
    return {name: value for name, value in given.items() if value is not None}


def _path_steps(count: int) -> Cte:
    """Each page that a session turned to, with the next ones."""
    in_order = "(PARTITION BY visit ORDER BY place)"
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


def _ends(asked: Paths) -> Sequence[Cte]:
    """The turns at which the ways begin and end, where the request says something of them."""
    begun = (_path_starts(),) if asked.start is not None else ()
    ended = (_path_ends(asked),) if asked.end is not None else ()
    return (*begun, *ended)


def _path_starts() -> Cte:
    """The first turn at which a way may begin."""
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


def _path_ends(asked: Paths) -> Cte:
    """First and last turn of the way; one that has no end when it must have is left out."""
    most = asked.max_steps
    if asked.start is None:
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


def _selected_steps(asked: Paths) -> Cte:
    """The pages of each session's way; those beyond its end are NULL."""
    numbers = range(asked.max_steps)
    if asked.end is not None:
        held = [f"CASE WHEN from_turn + {n} <= last_turn THEN page_{n} END" for n in numbers]
        where = "JOIN ended ON ender = visit AND from_turn = turn"
    else:
        held = [f"page_{n}" for n in numbers]
        where = "WHERE turn = 1"
        if asked.start is not None:
            where = "JOIN begun ON beginner = visit AND first_turn = turn"
    pages = ",\n               ".join(f"{each} AS way_{n}" for n, each in enumerate(held))
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
    """The ways, with how many sessions and visitors took each."""
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
        description="ways through pages: from a page, to a page, or from the first page of "
        "sessions",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Path,
        options=Paths,
        sql=paths_statement,
    ),
)
