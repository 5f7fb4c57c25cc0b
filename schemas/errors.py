"""ApiError and its family: every error that a caller can meet, with status, code and message.

An error is raised where a request is rejected; `schemas.http` turns it into status and body.
Messages use the caller's words: no SQL, no file names, no stack traces.

ApiError
├── Malformed 400            the body or a parameter is invalid
├── NoneAccepted 400         no item of a batch was valid
├── ContractRefused 400      of an item: the contract of its website refuses the event
├── ResultTooLarge 400       the result exceeds the row or byte limit
├── Unauthorized 401         no API key, or an invalid one
│   └── SecondFactorRequired the password is right; the one-time code is missing or wrong
├── Forbidden 403            the key has no permission for the scope or the subject
├── NotFound 404             no such route, link or slug
├── MethodNotAllowed 405
├── NotAcceptable 406        no format that the caller accepts is supported
├── RequestTimeout 408       the head or the body did not arrive in time
├── Conflict 409             the slug is taken
├── VersionGone 410          the requested version of a table is deleted
├── PayloadTooLarge 413
├── RateLimitExceeded 429
├── HeadersTooLarge 431      the head of a request has too many bytes or fields
└── Unavailable 503          Kafka, the lake or the registry cannot be reached; retry later
    ├── QueryTimeout         the query exceeded its deadline
    ├── QueryTooHeavy        the query needs more memory than its pool has
    ├── DataDamaged          a data file that the query needs is missing or damaged
    └── OutcomeUnknown       sent to Kafka, not acknowledged in time: stored or not is unknown
"""

from typing import Any, ClassVar


class ApiError(Exception):
    """An internal error; base class of all errors, with `status`, `code` and a message."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        """Additional members of the error body."""

    @property
    def retry_after(self) -> int | None:
        """Seconds for the `Retry-After` header."""
        return None


class Malformed(ApiError):
    """The request is invalid; the message names the field and the rule."""

    status = 400
    code = "VALIDATION_ERROR"


class NoneAccepted(ApiError):
    """No item of the batch was valid; `rejected` lists each with its reason."""

    status = 400
    code = "NO_ITEM_ACCEPTED"


class ContractRefused(ApiError):
    """Of an item: the event differs from the contract of its website, which refuses such events."""

    status = 400
    code = "CONTRACT_REFUSED"


class ResultTooLarge(ApiError):
    """The result exceeds the row or byte limit; request fewer rows, a page, or an export."""

    status = 400
    code = "RESULT_TOO_LARGE"


class Unauthorized(ApiError):
    """No API key, or one that is unknown, revoked or expired."""

    status = 401
    code = "AUTH_REQUIRED"


class SecondFactorRequired(Unauthorized):
    """The password is right; the one-time code is missing, or wrong."""

    code = "SECOND_FACTOR_REQUIRED"


class Forbidden(ApiError):
    """The key has no access to the subject, or the subject does not exist."""

    status = 403
    code = "ACCESS_DENIED"


class NotFound(ApiError):
    """No such route, or no such link for this key."""

    status = 404
    code = "NOT_FOUND"


class MethodNotAllowed(ApiError):
    """The route does not support the method; `Allow` lists those that it supports."""

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allow: str) -> None:
        super().__init__(f"This route does not support the method; use {allow}")
        self.allow = allow


class NotAcceptable(ApiError):
    """The route supports none of the media types in `Accept`."""

    status = 406
    code = "NOT_ACCEPTABLE"


class RequestTimeout(ApiError):
    """The head or the body of a request did not arrive in time."""

    status = 408
    code = "REQUEST_TIMEOUT"


class Conflict(ApiError):
    """The value is already taken, or a limit on the number of records is reached."""

    status = 409
    code = "CONFLICT"


class VersionGone(ApiError):
    """The version of a table is deleted; the message names the oldest that is surely readable."""

    status = 410
    code = "VERSION_GONE"


class PayloadTooLarge(ApiError):
    """The body or an item is too large."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"


class HeadersTooLarge(ApiError):
    """The head of the request has too many bytes or fields."""

    status = 431
    code = "HEADERS_TOO_LARGE"


class RateLimitExceeded(ApiError):
    """The rate limit of the current window is exceeded."""

    status = 429
    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, limit: int, reset: str, retry_after: int, which_limit: str = "") -> None:
        super().__init__(
            f"Rate limit exceeded. Please try again later. {which_limit}".rstrip(),
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
    """A dependency cannot be reached; no item was stored unless the message says so."""

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
    """Kafka did not acknowledge the items in time: whether they are stored is unknown."""

    code = "OUTCOME_UNKNOWN"


class QueryTooHeavy(Unavailable):
    """The query needs more memory than its pool has; narrow the time range or the filters."""

    code = "QUERY_TOO_HEAVY"


class DataDamaged(Unavailable):
    """A data file that the query needs is missing or damaged, so rows would be missing."""

    code = "DATA_DAMAGED"

    def __init__(self, message: str, retry_after: int = 60, **more: Any) -> None:
        super().__init__(message, retry_after, **more)
