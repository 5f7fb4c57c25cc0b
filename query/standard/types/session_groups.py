"""Sessions as rows, and query types that group them: by duration, device, browser and bucket."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from query.prepared.session_groups import SessionsByBucket, SessionsByDuration, SessionsByFact
from query.request.subject import SubjectKind
from query.scope.session_rows import (
    ENDED_MS,
    MERGED_MEASURES,
    PAGE_VIEWS,
    STARTED_MS,
    of_first_view,
)
from query.sql.select import Cte
from query.standard.declaration.fields import Date, MeanSeconds
from query.standard.declaration.query_type import QueryType
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


def session_ctes(
    firsts: Mapping[str, str] = NOTHING,
    counts: Sequence[str] = (),
    facts: Mapping[str, str] = NOTHING,
) -> tuple[Cte, ...]:
    """The CTE `session_summaries`: a row for each session, with the CTEs before it.

    `firsts` are values of its first page view, `counts` values that are added up, both of
    `session_rows`; `facts` are expressions of facts of the visit.
    """
    columns = {name: f"CAST(SUM({name}) AS BIGINT)" for name in counts}
    columns |= {name: of_first_view(value) for name, value in firsts.items()}
    extra_columns = "".join(f",\n               {sql} AS {name}" for name, sql in columns.items())
    rows = Cte(
        "session_aggregates" if facts else "session_summaries",
        f"""
        SELECT session_hash                    AS session_key,
               {of_first_view("view_visitor")} AS visitor,
               {STARTED_MS}                    AS started_ms,
               {ENDED_MS}                      AS ended_ms,
               {MERGED_MEASURES}{extra_columns}
          FROM session_rows
         GROUP BY session_hash
        HAVING {PAGE_VIEWS} > 0
        """,  # noqa: S608
    )
    if not facts:
        return (rows,)
    fact_columns = "".join(f",\n               {sql} AS {name}" for name, sql in facts.items())
    with_facts = Cte(
        "session_summaries",
        f"""
        SELECT session_aggregates.*{fact_columns}
          FROM session_aggregates
          JOIN visit_facts
            ON visit_session = session_key
        """,  # noqa: S608
    )
    return rows, with_facts


DURATIONS = (
    (0, "0-30s"),
    (30_000, "30s-1m"),
    (60_000, "1m-5m"),
    (300_000, "5m-15m"),
    (900_000, "15m-1h"),
    (3_600_000, "1h+"),
)
"""Ranges of durations: the least milliseconds of each, and its name."""
RANGES = " ".join(
    (
        "CASE",
        *(f"WHEN duration_ms >= {least} THEN '{name}'" for least, name in DURATIONS[:0:-1]),
        f"ELSE '{DURATIONS[0][1]}' END",
    )
)

UNKNOWN = "Unknown"

SESSION_COUNTS = """COUNT(*)                AS sessions,
                   COUNT(DISTINCT visitor) AS visitors,
                   SUM(duration_ms)        AS avg_session_duration_ms,
                   COUNT(*)                AS avg_session_duration_count"""


def grouped(name: str, column: str, description: str) -> QueryType:
    """Sessions by a fact of the visit; `Unknown` without it."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionGroup,
        prepared=SessionsByFact(column, UNKNOWN),
        ctes=session_ctes(facts={"label": f"COALESCE(visit_{column}, '{UNKNOWN}')"}),
        sql=f"""
            SELECT label,
                   {SESSION_COUNTS}
              FROM session_summaries
             GROUP BY label
             ORDER BY sessions DESC, label
        """,  # noqa: S608
    )


SESSIONS_BY = (
    QueryType(
        name="session_duration_distribution",
        prepared=SessionsByDuration(DURATIONS),
        description="sessions by duration",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=DurationRange,
        ctes=session_ctes(),
        sql=f"""
            SELECT {RANGES}                AS label,
                   COUNT(*)                AS sessions,
                   COUNT(DISTINCT visitor) AS visitors
              FROM session_summaries
             GROUP BY {RANGES}
             ORDER BY sessions DESC, label
        """,  # noqa: S608
    ),
    grouped("sessions_by_device", "device_type", "sessions by device type"),
    grouped("sessions_by_browser", "browser_name", "sessions by browser"),
    QueryType(
        name="sessions_time_series",
        prepared=SessionsByBucket(),
        description="sessions that began in each bucket, and their visitors",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionBucket,
        ctes=session_ctes({"time_bucket": "bucket"}),
        sql=f"""
            SELECT time_bucket,
                   {SESSION_COUNTS}
              FROM session_summaries
             GROUP BY time_bucket
             ORDER BY time_bucket
        """,  # noqa: S608
    ),
)
