"""visitor_timeline: events and errors of one visitor, ordered by time."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import EVENT_KIND, ROW_ORDER
from query.sql.select import Cte
from query.standard.declaration.fields import Instant, OptionalText
from query.standard.declaration.query_type import QueryType
from schemas.tables import EVENTS


class TimelineEntry(Struct, frozen=True):
    time: Instant
    kind: str
    name: str
    path: OptionalText
    session_id: OptionalText
    properties: OptionalText
    referrer: OptionalText
    anonymous_id: OptionalText


TIMELINE_ENTRIES = Cte(
    "timeline_entries",
    f"""
    SELECT ms,
           {EVENT_KIND} AS kind,
           COALESCE(href, name) AS entry_name,
           path, session_id, properties,
           COALESCE(referrer_name, referrer) AS referrer_label, anonymous_id,
           0 AS table_order, epoch, kafka_partition, kafka_offset, seq
      FROM scoped
     UNION ALL
    SELECT ms, 'error', message, path, session_id, NULL, NULL, anonymous_id,
           1, epoch, kafka_partition, kafka_offset, seq
      FROM scoped_errors
    """,  # noqa: S608
)

RANKED_ENTRIES = Cte(
    "ranked_entries",
    f"""
    SELECT ms, kind, entry_name, path, session_id, properties, referrer_label, anonymous_id,
           ROW_NUMBER() OVER (ORDER BY {ROW_ORDER.replace("ms,", "ms, table_order,")}) AS row_rank
      FROM timeline_entries
    """,  # noqa: S608
)

TIMELINE = (
    QueryType(
        name="visitor_timeline",
        description="page views, events, outbound clicks and errors of one visitor, ordered "
        "by time, with the device of each",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=TimelineEntry,
        default_limit=500,
        required_filters=("anonymous_id",),
        ctes=(TIMELINE_ENTRIES, RANKED_ENTRIES),
        sql="""
            SELECT ms, kind, entry_name, path, session_id, properties, referrer_label, anonymous_id,
                   row_rank
              FROM ranked_entries
             ORDER BY row_rank
        """,
    ),
)
