"""visitor_timeline: all that one visitor did and met, in the order of time."""

from msgspec import Struct

from query.standard.declaration.fields import Instant, Text
from query.standard.declaration.query_type import Cte, QueryType, Subject
from query.standard.sql.definitions import EXIT, ORDER, PAGE_VIEW
from query.standard.sql.event_conditions import AWAY
from schemas.tables import ERRORS, EVENTS


class Moment(Struct, frozen=True):
    time: Instant
    kind: str
    name: str
    path: Text
    session_id: Text
    properties: Text
    referrer: Text


MOMENTS = Cte(
    "moments",
    f"""
    SELECT ms,
           CASE WHEN {PAGE_VIEW} THEN 'page_view'
                WHEN name = '{EXIT}' THEN 'page_exit'
                WHEN {AWAY} THEN 'outbound'
                ELSE 'event' END AS kind,
           COALESCE(href, name) AS called,
           path, session_id, properties,
           COALESCE(referrer_name, referrer) AS came_from,
           0 AS part, epoch, kafka_partition, kafka_offset, seq
      FROM scoped
     UNION ALL
    SELECT ms, 'error', message, path, session_id, NULL, NULL,
           1, epoch, kafka_partition, kafka_offset, seq
      FROM scoped_errors
    """,  # noqa: S608
)

NUMBERED = Cte(
    "numbered",
    f"""
    SELECT ms, kind, called, path, session_id, properties, came_from,
           ROW_NUMBER() OVER (ORDER BY {ORDER.replace("ms,", "ms, part,")}) AS turn
      FROM moments
    """,  # noqa: S608
)

TIMELINE = (
    QueryType(
        name="visitor_timeline",
        meaning="page views, events, clicks away and errors of one visitor in the order of time",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Moment,
        limit=500,
        needs=("anonymous_id",),
        beside=(ERRORS,),
        given=(MOMENTS, NUMBERED),
        sql="""
            SELECT ms, kind, called, path, session_id, properties, came_from, turn
              FROM numbered
             ORDER BY turn
        """,
    ),
)
