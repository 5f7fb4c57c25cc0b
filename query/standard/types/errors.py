"""Query types of error reports: by message, page, error type and time bucket."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.standard.declaration.fields import Date, Instant
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.error_messages import ErrorGrouping
from query.standard.sql.grouped_rows import grouped_rows
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


class ErrorRelease(Struct, frozen=True):
    name: str | None
    count: int
    users: int
    sessions: int
    first_seen: Instant
    last_seen: Instant


class ErrorBucket(Struct, frozen=True):
    date: Date
    errors: int
    users: int


def messages_statement(options: ErrorGrouping) -> Statement:
    """Errors by message, or by its pattern."""
    return Statement(sql=grouped_rows(ErrorMessage, {"name": options.message}, first=("count",)))


ERRORS = (
    QueryType(
        name="error_types",
        description="errors by message, with the time of the last one",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorMessage,
        default_limit=50,
        options=ErrorGrouping,
        sql=messages_statement,
    ),
    QueryType(
        name="errors_by_page",
        description="errors by path",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorPage,
        default_limit=20,
        sql=grouped_rows(ErrorPage, {"name": "COALESCE(path, '')"}, first=("errors",)),
    ),
    QueryType(
        name="errors_by_type",
        description="errors by class; null for those that named none",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorType,
        default_limit=20,
        sql=grouped_rows(ErrorType, {"name": "error_type"}, first=("count",)),
    ),
    QueryType(
        name="errors_by_release",
        description="errors by release, with the times of the first and the last; null for those "
        "that named none",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorRelease,
        default_limit=20,
        sql=grouped_rows(ErrorRelease, {"name": "release"}, first=("count",)),
    ),
    QueryType(
        name="error_trends",
        description="errors and affected visitors of each bucket",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=ErrorBucket,
        sql=grouped_rows(ErrorBucket, {"date": "bucket"}),
    ),
)
