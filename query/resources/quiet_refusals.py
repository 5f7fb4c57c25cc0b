"""`?quiet=true`: a refusal is a response with status 200, for forms of pages.

Browsers log every response of status 400 and above as an error of the page. A wrong password is
none: the page asks for the refusal as a value, and other callers get the usual status.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.response.json_response import json_response
from schemas.errors import ApiError, Malformed, NotFound, Unauthorized
from schemas.http import openapi

QUIET_PARAMETER = openapi.Parameter(
    "quiet",
    "`true`: a refusal that is 401 or 404 otherwise has status 200 and `success: false`, so that "
    "browsers log no error",
    schema={"type": "boolean", "default": False},
)
REFUSALS = (Unauthorized, NotFound)


class RefusedResponse(Struct):
    """What was refused, in a response with status 200."""

    success: Literal[False]
    error: str
    code: str
    status: int
    """Status without `quiet`."""


def quiet_refusals(endpoint: QueryEndpoint) -> QueryEndpoint:
    """The endpoint with the parameter `quiet`, strict about its query string.

    Malformed for another value than true or false.
    """
    operation = replace(
        endpoint.operation,
        parameters=(*endpoint.operation.parameters, QUIET_PARAMETER),
        responses=_with_refusal(endpoint.operation.responses),
    )

    async def handler(dependencies: QueryDependencies, request: Request) -> Response:
        quiet = _is_quiet(request)
        try:
            return await endpoint.handler(dependencies, request)
        except REFUSALS as error:
            if not quiet:
                raise
            return _refused(error)

    return strict_query_string(QueryEndpoint(handler, operation))


def _is_quiet(request: Request) -> bool:
    value = request.query_params.get("quiet", "false")
    if value not in ("true", "false"):
        raise Malformed(f"'quiet' is '{value[:40]}'; it must be true or false")
    return value == "true"


def _refused(error: ApiError) -> Response:
    response = json_response(RefusedResponse(False, error.message, error.code, error.status))
    response.headers["cache-control"] = "no-store"
    return response


def _with_refusal(responses: Sequence[openapi.Response]) -> tuple[openapi.Response, ...]:
    first, *others = responses
    return (replace(first, body=(first.body, RefusedResponse)), *others)
