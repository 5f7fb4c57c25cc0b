"""paths: the ways that sessions take through pages; views of the same page in a row are one."""

from typing import Annotated

from msgspec import Meta, Struct

from query.standard.forms import Percent
from query.standard.sessions import ORDER, PAGE_VIEW
from query.standard.spec import Cte, QueryType, Statement, Subject
from query.standard.steps import Said
from schemas.tables import EVENTS

MOST_STEPS = 10


class Paths(Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """What the request says: where ways begin, where they end, and how many pages they have."""

    start: Said | None = None
    end: Said | None = None
    max_steps: Annotated[int, Meta(ge=2, le=MOST_STEPS)] = 5


class Way(Struct, frozen=True):
    name: str
    steps: int
    sessions: int
    visitors: int
    percentage: Percent


SEEN = Cte(
    "seen",
    f"""
    SELECT session_hash, visitor_hash, path, {ORDER},
           LAG(path) OVER (PARTITION BY session_hash ORDER BY {ORDER}) AS came_from
      FROM scoped
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
       AND path IS NOT NULL
    """,  # noqa: S608
)

TURNS = Cte(
    "turns",
    f"""
    SELECT session_hash AS visit,
           visitor_hash AS visitor,
           path         AS page,
           ROW_NUMBER() OVER (PARTITION BY session_hash ORDER BY {ORDER}) AS turn
      FROM seen
     WHERE came_from IS NULL
        OR came_from <> path
    """,  # noqa: S608
)


def plan(asked: Paths) -> Statement:
    """The stretch of each session's pages that is asked, as one text, and how often it occurs."""
    return Statement(
        given=(SEEN, TURNS, _begun(asked), _ended(asked), _walked(asked)),
        sql="""
            SELECT way                        AS label,
                   pages                      AS steps,
                   COUNT(*)                   AS sessions,
                   COUNT(DISTINCT walker)     AS visitors,
                   COUNT(*)                   AS percentage_part,
                   SUM(COUNT(*)) OVER ()      AS percentage_whole
              FROM walked
             GROUP BY way, pages
             ORDER BY sessions DESC, label, steps
        """,
        values=_values(asked),
    )


def _values(asked: Paths) -> dict[str, object]:
    given = {"way_from": asked.start, "way_to": asked.end}
    return {name: value for name, value in given.items() if value is not None}


def _begun(asked: Paths) -> Cte:
    """The first turn at which a way may begin."""
    where = " WHERE page = $way_from" if asked.start is not None else ""
    return Cte(
        "begun",
        f"""
        SELECT visit AS beginner, MIN(turn) AS first_turn
          FROM turns
        {where}
         GROUP BY visit
        """,  # noqa: S608
    )


def _ended(asked: Paths) -> Cte:
    """First and last turn of the way; one that has no end when it must have is left out."""
    most = asked.max_steps
    if asked.end is None:
        return Cte(
            "ended",
            f"""
            SELECT beginner, first_turn, first_turn + {most - 1} AS last_turn
              FROM begun
            """,  # noqa: S608
        )
    first = "first_turn" if asked.start is not None else f"GREATEST(MIN(turn) - {most - 1}, 1)"
    near = f"HAVING MIN(turn) - first_turn < {most}" if asked.start is not None else ""
    return Cte(
        "ended",
        f"""
        SELECT beginner, {first} AS first_turn, MIN(turn) AS last_turn
          FROM turns
          JOIN begun
            ON beginner = visit
         WHERE page = $way_to
           AND turn >= first_turn
         GROUP BY beginner, begun.first_turn
        {near}
        """,  # noqa: S608
    )


def _walked(asked: Paths) -> Cte:
    pages = [
        f"MAX(CASE WHEN turn = first_turn + {n} THEN page END)" for n in range(asked.max_steps)
    ]
    way = pages[0] + "".join(f" || COALESCE(' → ' || {page}, '')" for page in pages[1:])
    return Cte(
        "walked",
        f"""
        SELECT {way}        AS way,
               COUNT(*)     AS pages,
               MIN(visitor) AS walker
          FROM turns
          JOIN ended
            ON beginner = visit
           AND turn BETWEEN first_turn AND last_turn
         GROUP BY visit
        """,  # noqa: S608
    )


PATHS = (
    QueryType(
        name="paths",
        meaning="ways through pages: from a page, to a page, or from the first page of sessions",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Way,
        options=Paths,
        example=Paths(),
        plan=plan,
    ),
)
