"""The two JSON shapes of an error body (query API, collection API), and the JSON encoder."""

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.errors import ApiError, RateLimitExceeded

ErrorShape = Callable[[ApiError], dict[str, Any]]

encode_json = msgspec.json.Encoder().encode


def query_error(error: ApiError) -> dict[str, Any]:
    """The query API's: `success`, `error`, and the code."""
    return {"success": False, "error": error.message, "code": error.code, **error.details}


def collect_error(error: ApiError) -> dict[str, Any]:
    """The collection API's: `status`, `message`, and the code; a 429 has the shape of both."""
    body = {"status": "error", "message": error.message, "code": error.code, **error.details}
    if isinstance(error, RateLimitExceeded):
        return {"success": False, "error": error.message, **body}
    return body
