"""The query string of a request: refuses unknown parameters, reads `?prepared=`."""

import typing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.request.member_names import fold, member_names
from query.request.suggestions import shorten, unknown_name_message
from schemas.errors import Malformed
from schemas.http.openapi import Operation, Parameter

PREPARED_PARAMETER = Parameter(
    "prepared",
    "`false`: read the stored rows only, no prepared results; the rows of the result are the same",
    {"type": "boolean"},
)
FLAGS: Mapping[str, bool] = {"true": True, "false": False}


def check_query_string(request: Request, operation: Operation) -> None:
    """Malformed when the query string has a parameter that the operation has not, or one twice."""
    known = [each.name for each in operation.parameters if each.location == "query"]
    counts = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in counts.items():
        if name not in known:
            raise Malformed(_unknown(name, known, operation))
        if count > 1:
            raise Malformed(f"'{name}' is given {count} times in the query string; give it once")


def uses_prepared(request: Request) -> bool:
    """Whether the request permits prepared results, as it does by default."""
    text = request.query_params.get(PREPARED_PARAMETER.name, "true")
    if text not in FLAGS:
        raise Malformed(f"'prepared' is '{text[:40]}'; it must be true or false")
    return FLAGS[text]


def strict_query_string(endpoint: QueryEndpoint) -> QueryEndpoint:
    """The endpoint, which refuses unknown parameters before anything else."""
    operation = endpoint.operation
    if Malformed not in operation.errors:
        operation = replace(operation, errors=(*operation.errors, Malformed))

    async def handler(dependencies: QueryDependencies, request: Request) -> Response:
        check_query_string(request, operation)
        return await endpoint.handler(dependencies, request)

    return QueryEndpoint(handler, operation)


def _unknown(name: str, known: Sequence[str], operation: Operation) -> str:
    where = " in the query string"
    members = [name for shape in _structs(operation.body) for name in member_names(shape)]
    if meant := _by_fold(known).get(fold(name)):
        return f"Unknown parameter '{shorten(name)}'{where}; did you mean '{meant}'?"
    if meant := _by_fold(members).get(fold(name)):
        return f"Unknown parameter '{meant}'{where}; it belongs in the body"
    return unknown_name_message("parameter", name, known, where)


def _by_fold(names: Sequence[str]) -> Mapping[str, str]:
    return {fold(name): name for name in names}


def _structs(body: Any) -> Iterator[type[Struct]]:
    """The shapes of a body, of several, and of the options of a union."""
    for option in body if isinstance(body, tuple) else typing.get_args(body) or (body,):
        if isinstance(option, type) and issubclass(option, Struct):
            yield option
