"""The two shapes of a failure's body (interface 7), and the bytes of any answer."""

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.errors import Failure, LimitExceeded

Shape = Callable[[Failure], dict[str, Any]]

encode = msgspec.json.Encoder().encode


def of_query(failure: Failure) -> dict[str, Any]:
    """The query API's: `success`, `error`, and the code."""
    return {"success": False, "error": failure.message, "code": failure.code, **failure.more}


def of_collect(failure: Failure) -> dict[str, Any]:
    """The collection API's: `status`, `message`, and the code; a 429 has the shape of both."""
    body = {"status": "error", "message": failure.message, "code": failure.code, **failure.more}
    if isinstance(failure, LimitExceeded):
        return {"success": False, "error": failure.message, **body}
    return body
