"""The two JSON shapes of an error body (query API, collection API), and the JSON encoder."""

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.errors import ApiError, RateLimitExceeded

ErrorShape = Callable[[ApiError], dict[str, Any]]

encode_json = msgspec.json.Encoder().encode


def query_error(error: ApiError) -> dict[str, Any]:
    """Error body of the query API: `success`, `error` and `code`."""
    return {"success": False, "error": error.message, "code": error.code, **error.details}


def collect_error(error: ApiError) -> dict[str, Any]:
    """Error body of the collection API: `status`, `message` and `code`; a 429 has both shapes."""
    body = {"status": "error", "message": error.message, "code": error.code, **error.details}
    if isinstance(error, RateLimitExceeded):
        return {"success": False, "error": error.message, **body}
    return body
