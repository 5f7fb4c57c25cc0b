"""Errors of the client, by what the caller can do about them.

ClientError
├── ServiceError          a request was rejected: `status`, `code`, `message`, `field`
│   ├── InvalidRequest    400: an argument is wrong; change the request
│   ├── AccessDenied      401, 403: no key, or one without access
│   ├── TooManyRequests   429: a rate limit; wait
│   └── ServiceUnavailable 502, 503, 504: try again later, or ask for less
└── TransferError         no response came, or only a part of one
"""

import json
import re
from collections.abc import Mapping
from typing import Any


class ClientError(Exception):
    """Base of all errors of the client."""


class ServiceError(ClientError):
    """The service rejected the request."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, label: str = ""
    ) -> None:
        super().__init__(f"{label}: {message}" if label else message)
        self.status = status
        self.code = code
        self.message = message
        self.field = _field_of(message) if field is None else field
        """The member of the request that is wrong, where the message names one."""
        self.retry_after = 0.0
        """Seconds after which the service wants to be asked again."""


class InvalidRequest(ServiceError, ValueError):
    """An argument is wrong; the message says which and what is allowed."""


class AccessDenied(ServiceError):
    """No API key, an invalid one, or one without access to the subject."""


class TooManyRequests(ServiceError):
    """The rate limit is exceeded, also after retries."""


class ServiceUnavailable(ServiceError):
    """Something that the service needs is not there, or the query takes too long."""


class TransferError(ClientError):
    """No response came, or only a part of one."""


Refused = ServiceError
"""Earlier name of ServiceError."""
Broken = TransferError
"""Earlier name of TransferError."""

_BY_STATUS: Mapping[int, type[ServiceError]] = {
    400: InvalidRequest,
    401: AccessDenied,
    403: AccessDenied,
    429: TooManyRequests,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}
_STATUS_BY_CODE = {
    "VALIDATION_ERROR": 400,
    "RESULT_TOO_LARGE": 400,
    "ACCESS_DENIED": 403,
    "VERSION_GONE": 410,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
    "QUERY_TIMEOUT": 503,
    "QUERY_TOO_HEAVY": 503,
    "DATA_DAMAGED": 503,
}
"""Status of an error that one query of a successful response has."""
_FIELD = re.compile(r"'([\w.\[\]-]+)'[ :]|Unknown (?:member|column|query type) '([^']+)'")


def wrong_argument(message: str, field: str | None = None) -> InvalidRequest:
    """The error for an argument that the client itself finds wrong."""
    return InvalidRequest(400, "VALIDATION_ERROR", message, field)


def _rejection(status: int, text: bytes, retry_after: str | None) -> ServiceError:
    """The error of a response."""
    try:
        body = _object_of(text)
    except ValueError:
        body = {}
    message = body.get("error") or body.get("message") or f"status {status}"
    error = _BY_STATUS.get(status, ServiceError)(status, body.get("code", ""), message)
    error.retry_after = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
    return error


def _failure(entry: Mapping[str, Any]) -> ServiceError:
    """The error of one query of a response."""
    code = entry.get("code", "")
    status = _STATUS_BY_CODE.get(code, 200)
    kind = _BY_STATUS.get(status, ServiceError)
    return kind(status, code, entry["error"], label=entry["parameter"])


def _field_of(message: str) -> str | None:
    found = _FIELD.match(message)
    return found and (found[1] or found[2])


def _object_of(text: bytes) -> dict[str, Any]:
    value = json.loads(text)
    return value if isinstance(value, dict) else {}
