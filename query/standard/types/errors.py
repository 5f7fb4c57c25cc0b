"""Query types of error reports: by message, page, error type and time bucket."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.standard.declaration.fields import Date, Instant
from query.standard.declaration.query_type import QueryType
from schemas.tables import ERRORS as STORED


class ErrorMessage(Struct, frozen=True):
    name: str
    count: int
    users: int
    last_seen: Instant


class ErrorPage(Struct, frozen=True):
    name: str
    errors: int
    users: int


class ErrorType(Struct, frozen=True):
    name: str | None
    count: int
    users: int
    sessions: int


class ErrorBucket(Struct, frozen=True):
    date: Date
    errors: int
    users: int


ERRORS = (
    QueryType(
        name="error_types",
        description="errors by message, with the time of the last one",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorMessage,
        default_limit=50,
        sql="""
            SELECT message                      AS label,
                   COUNT(*)                     AS errors,
                   COUNT(DISTINCT visitor_hash) AS users,
                   MAX(ms)                      AS last_seen
              FROM scoped
             GROUP BY message
             ORDER BY errors DESC, label
        """,
    ),
    QueryType(
        name="errors_by_page",
        description="errors by path",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorPage,
        default_limit=20,
        sql="""
            SELECT COALESCE(path, '')           AS label,
                   COUNT(*)                     AS errors,
                   COUNT(DISTINCT visitor_hash) AS users
              FROM scoped
             GROUP BY COALESCE(path, '')
             ORDER BY errors DESC, label
        """,
    ),
    QueryType(
        name="errors_by_type",
        description="errors by class; null for those that named none",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorType,
        default_limit=20,
        sql="""
            SELECT error_type                    AS label,
                   COUNT(*)                      AS errors,
                   COUNT(DISTINCT visitor_hash)  AS users,
                   COUNT(DISTINCT session_hash)  AS sessions
              FROM scoped
             GROUP BY error_type
             ORDER BY errors DESC, label NULLS LAST
        """,
    ),
    QueryType(
        name="error_trends",
        description="errors and affected visitors of each bucket",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorBucket,
        sql="""
            SELECT bucket,
                   COUNT(*)                     AS errors,
                   COUNT(DISTINCT visitor_hash) AS users
              FROM scoped
             GROUP BY bucket
             ORDER BY bucket
        """,
    ),
)
