"""Sessions as rows, and questions that group them: by length, device, browser and day."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from query.standard.declaration.fields import Date, MeanSeconds
from query.standard.declaration.query_type import Cte, QueryType, Subject
from query.standard.sql.definitions import LASTED, OTHERS, PAGE_VIEW, VIEWS, earliest
from schemas.tables import EVENTS


class DurationRange(Struct, frozen=True):
    duration_range: str
    sessions: int
    visitors: int


class SessionGroup(Struct, frozen=True):
    name: str
    sessions: int
    visitors: int
    avg_session_duration: MeanSeconds


class SessionBucket(Struct, frozen=True):
    date: Date
    sessions: int
    visitors: int
    avg_session_duration: MeanSeconds


NOTHING: Mapping[str, str] = MappingProxyType({})


def journeys(
    firsts: Mapping[str, str] = NOTHING, counts: Mapping[str, str] = NOTHING
) -> tuple[Cte, ...]:
    """The CTE `journeys`: a row for each session.

    `firsts` are columns of its first page view, `counts` how many of its rows meet conditions.
    """
    columns = {name: f"COUNT(*) FILTER (WHERE {only})" for name, only in counts.items()}
    columns |= {name: viewed(sql) for name, sql in firsts.items()}
    kept = "".join(f",\n               {sql} AS {name}" for name, sql in columns.items())
    rows = Cte(
        "journeys",
        f"""
        SELECT session_hash             AS visit,
               {viewed("visitor_hash")} AS visitor,
               MIN(ms)  AS began,
               MAX(ms)  AS ended,
               {VIEWS}  AS views,
               {OTHERS} AS others,
               {LASTED} AS lasted{kept}
          FROM scoped
         WHERE session_hash IS NOT NULL
         GROUP BY session_hash
        HAVING {VIEWS} > 0
        """,  # noqa: S608
    )
    return (rows,)


def viewed(value: str) -> str:
    """The value of the first page view of a group."""
    return f"{earliest(value)} FILTER (WHERE {PAGE_VIEW})"


RANGES = """CASE WHEN lasted < 30000 THEN '0-30s'
                        WHEN lasted < 60000 THEN '30s-1m'
                        WHEN lasted < 300000 THEN '1m-5m'
                        WHEN lasted < 900000 THEN '5m-15m'
                        WHEN lasted < 3600000 THEN '15m-1h'
                        ELSE '1h+' END"""

COUNTED = """COUNT(*)                AS sessions,
                   COUNT(DISTINCT visitor) AS visitors,
                   SUM(lasted)             AS avg_session_duration_ms,
                   COUNT(*)                AS avg_session_duration_count"""


def grouped(name: str, column: str, meaning: str) -> QueryType:
    """Sessions by a column of their first page view; `Unknown` without it."""
    return QueryType(
        name=name,
        meaning=meaning,
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=SessionGroup,
        given=journeys({"label": f"COALESCE({column}, 'Unknown')"}),
        sql=f"""
            SELECT label,
                   {COUNTED}
              FROM journeys
             GROUP BY label
             ORDER BY sessions DESC, label
        """,  # noqa: S608
    )


SESSIONS_BY = (
    QueryType(
        name="session_duration_distribution",
        meaning="sessions by how long they lasted",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=DurationRange,
        given=journeys(),
        sql=f"""
            SELECT {RANGES}                AS label,
                   COUNT(*)                AS sessions,
                   COUNT(DISTINCT visitor) AS visitors
              FROM journeys
             GROUP BY {RANGES}
             ORDER BY sessions DESC, label
        """,  # noqa: S608
    ),
    grouped("sessions_by_device", "device_type", "sessions by class of device"),
    grouped("sessions_by_browser", "browser_name", "sessions by browser"),
    QueryType(
        name="sessions_time_series",
        meaning="sessions that began in each bucket, and who began them",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=SessionBucket,
        given=journeys({"point": "bucket"}),
        sql=f"""
            SELECT point,
                   {COUNTED}
              FROM journeys
             GROUP BY point
             ORDER BY point
        """,  # noqa: S608
    ),
)
