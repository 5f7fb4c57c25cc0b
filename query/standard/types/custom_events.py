"""Query types of custom events: by path, by bucket, single ones."""

from msgspec import Struct

from query.prepared.custom_events import (
    CustomEventsByBucket,
    CustomEventsByBucketAndName,
    CustomEventsByPath,
    CustomEventsByQuarter,
)
from query.prepared.forms import RollupPlan
from query.prepared.rollup_tables import QUARTER
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM, NEWEST_FIRST
from query.standard.declaration.fields import Date, Instant, OptionalText
from query.standard.declaration.listing import Listing, NewestRows
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from schemas.tables import EVENTS as STORED


class EventsOfPath(Struct, frozen=True):
    name: str
    total_events: int
    unique_event_types: int
    unique_users: int


class EventsOfBucket(Struct, frozen=True):
    date: Date
    total_events: int
    unique_event_types: int
    unique_users: int
    unique_sessions: int
    unique_pages: int


class EventOfBucket(Struct, frozen=True):
    date: Date
    event_name: str
    total_events: int


class RecentEvent(Struct, frozen=True):
    event_name: str
    namespace: OptionalText
    path: OptionalText
    source: OptionalText
    properties: OptionalText
    anonymous_id: OptionalText
    session_id: OptionalText
    timestamp: Instant


def custom_event_type(
    name: str,
    description: str,
    row: type[Struct],
    sql: str,
    limit: int = 100,
    prepared: RollupPlan | None = None,
    newest_rows: NewestRows | None = None,
) -> QueryType:
    """A query type over the events table."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        sql=sql,
        default_limit=limit,
        prepared=prepared,
        listing=Listing(newest_rows=newest_rows),
    )


NEWEST = NewestRows(
    form=CustomEventsByQuarter(),
    counts=Statement(
        sql=f"""
            SELECT {QUARTER} AS quarter,
                   COUNT(*) AS row_count
              FROM scoped
             WHERE {IS_CUSTOM}
             GROUP BY {QUARTER}
             ORDER BY quarter
        """,  # noqa: S608
    ),
)

CUSTOM_EVENTS = (
    custom_event_type(
        "custom_events_by_path",
        "custom events by path",
        EventsOfPath,
        f"""
            SELECT path                         AS label,
                   COUNT(*)                     AS total_events,
                   COUNT(DISTINCT name)         AS unique_event_types,
                   COUNT(DISTINCT visitor_hash) AS unique_users
              FROM scoped
             WHERE {IS_CUSTOM}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY total_events DESC, label
        """,  # noqa: S608
        limit=50,
        prepared=CustomEventsByPath(),
    ),
    custom_event_type(
        "custom_events_trends",
        "totals of custom events in each bucket",
        EventsOfBucket,
        f"""
            SELECT bucket,
                   COUNT(*)                     AS total_events,
                   COUNT(DISTINCT name)         AS unique_event_types,
                   COUNT(DISTINCT visitor_hash) AS unique_users,
                   COUNT(DISTINCT session_hash) AS unique_sessions,
                   COUNT(DISTINCT path)         AS unique_pages
              FROM scoped
             WHERE {IS_CUSTOM}
             GROUP BY bucket
             ORDER BY bucket
        """,  # noqa: S608
        prepared=CustomEventsByBucket(),
    ),
    QueryType(
        name="custom_events_trends_by_event",
        description="custom events of each bucket and name; only buckets that have some",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=EventOfBucket,
        prepared=CustomEventsByBucketAndName(),
        default_limit=10_000,
        sql=f"""
            SELECT bucket,
                   name,
                   COUNT(*) AS total_events
              FROM scoped
             WHERE {IS_CUSTOM}
             GROUP BY bucket, name
             ORDER BY bucket, total_events DESC, name
        """,  # noqa: S608
    ),
    custom_event_type(
        "custom_events_recent",
        "single custom events, newest first; properties as JSON text",
        RecentEvent,
        f"""
            SELECT name,
                   namespace,
                   path,
                   source,
                   properties,
                   anonymous_id,
                   session_id,
                   ms,
                   epoch,
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             WHERE {IS_CUSTOM}
             ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608
        limit=50,
        newest_rows=NEWEST,
    ),
)
