"""ApiError and its family: every error a caller can meet, with status and code.

A failure is raised where something is refused; `schemas.http` turns it into status and body.
Messages speak the caller's words: no SQL, no file, no stack.

Failure
├── Malformed 400            the body or a parameter is not what the contract says
├── NoneAccepted 400         no item of a batch was good
├── ResultTooLarge 400       the answer would have more rows or bytes than one may have
├── Unauthorized 401         no key, or a wrong one
├── Forbidden 403            the key's scope or tenant does not reach the subject
├── NotFound 404             no such route, link or slug
├── WrongMethod 405
├── NotAcceptable 406       no format that the caller accepts is one of ours
├── TooSlow 408              a head or a body did not arrive in time
├── Conflict 409             the slug is taken
├── VersionGone 410          the version of a table that was asked for is not kept any more
├── TooLarge 413
├── LimitExceeded 429
├── HeadTooLarge 431         the head of a request has too many bytes or fields
├── Overdue 503              the question took longer than its deadline
├── TooHeavy 503             the question needs more memory than its pool has
├── DataDamaged 503          a stored file that the question needs is missing or damaged
├── Unavailable 503          Kafka (or the lake) cannot be reached; come back later
└── Unconfirmed 503          handed to Kafka, not acknowledged in time: stored or not is unknown
"""

from typing import Any, ClassVar


class ApiError(Exception):
    """A refusal: `status`, `code` and a sentence for the caller."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, message: str, **more: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = more
        """Further members of the body."""

    @property
    def retry_after(self) -> int | None:
        """Seconds for the `Retry-After` header."""
        return None


class Malformed(ApiError):
    """The request is not what the contract says; the message names the field and the rule."""

    status = 400
    code = "VALIDATION_ERROR"


class NoneAccepted(ApiError):
    """No item of the batch was valid; `rejected` lists each with its reason."""

    status = 400
    code = "NO_ITEM_ACCEPTED"


class ResultTooLarge(ApiError):
    """The result exceeds the row or byte limit; request fewer rows, a page, or an export."""

    status = 400
    code = "RESULT_TOO_LARGE"


class Unauthorized(ApiError):
    """No API key, or one that is unknown, revoked or expired."""

    status = 401
    code = "AUTH_REQUIRED"


class Forbidden(ApiError):
    """The key has no access to the subject, or the subject does not exist."""

    status = 403
    code = "ACCESS_DENIED"


class NotFound(ApiError):
    """No such route, or no such link for this key."""

    status = 404
    code = "NOT_FOUND"


class MethodNotAllowed(ApiError):
    """The route exists, the method does not; `allow` names those that do."""

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allow: str) -> None:
        super().__init__(f"This route does not support the method; use {allow}")
        self.allow = allow


class NotAcceptable(ApiError):
    """None of the media types that `Accept` names is one that the route answers with."""

    status = 406
    code = "NOT_ACCEPTABLE"


class RequestTimeout(ApiError):
    """The head or the body of a request did not arrive in time."""

    status = 408
    code = "REQUEST_TIMEOUT"


class Conflict(ApiError):
    """The value is taken."""

    status = 409
    code = "CONFLICT"


class VersionGone(ApiError):
    """The version of a table is not kept any more; the message names the oldest that surely is."""

    status = 410
    code = "VERSION_GONE"


class PayloadTooLarge(ApiError):
    """The body or an item is larger than allowed."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"


class HeadersTooLarge(ApiError):
    """The head of a request has more bytes, or more fields, than allowed."""

    status = 431
    code = "HEADERS_TOO_LARGE"


class RateLimitExceeded(ApiError):
    """The rate limit of the current window is exceeded."""

    status = 429
    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, limit: int, reset: str, retry_after: int, which: str = "") -> None:
        super().__init__(
            f"Rate limit exceeded. Please try again later. {which}".rstrip(),
            limit=limit,
            remaining=0,
            reset=reset,
            retryAfter=retry_after,
        )
        self._retry_after = retry_after

    @property
    def retry_after(self) -> int | None:
        return self._retry_after


class Unavailable(ApiError):
    """What answers depends on cannot be reached; nothing was taken unless the message says so."""

    status = 503
    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str, retry_after: int = 5, **more: Any) -> None:
        super().__init__(message, **more)
        self._retry_after = retry_after

    @property
    def retry_after(self) -> int | None:
        return self._retry_after


class QueryTimeout(Unavailable):
    """The query exceeded its deadline; narrow the time range or the filters."""

    code = "QUERY_TIMEOUT"


class OutcomeUnknown(Unavailable):
    """The items were handed to Kafka, which did not say in time whether it has them."""

    code = "OUTCOME_UNKNOWN"


class QueryTooHeavy(Unavailable):
    """The query needs more memory than its pool has; narrow the time range or the filters."""

    code = "QUERY_TOO_HEAVY"


class DataDamaged(Unavailable):
    """A stored file that the question needs is missing or damaged: it would miss rows."""

    code = "DATA_DAMAGED"

    def __init__(self, message: str, retry_after: int = 60, **more: Any) -> None:
        super().__init__(message, retry_after, **more)
