"""One page of a registry list, oldest first."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.response.bodies import PageMeta
from query.response.json_response import json_response
from schemas.errors import Malformed
from schemas.http.openapi import Parameter
from schemas.registry.record_mapping import RecordT

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
MAX_PAGE = 1_000_000


async def list_page(
    dependencies: QueryDependencies,
    request: Request,
    kind: type[RecordT],
    where: Mapping[str, Any],
    to_resource: Callable[[RecordT], object],
    beside: Callable[[Sequence[RecordT]], Awaitable[Mapping[str, Mapping[str, object]]]]
    | None = None,
) -> Response:
    """The page of `page` and `limit` in the query string; Malformed names the rule.

    `beside` gives further members by id.
    """
    params = request.query_params
    limit = query_integer(params, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    page = query_integer(params, "page", 1, MAX_PAGE)
    total = await dependencies.in_registry(lambda: dependencies.store.count(kind, **where))
    records = await dependencies.in_registry(
        lambda: dependencies.store.list(kind, limit=limit, offset=(page - 1) * limit, **where)
    )
    data = [to_resource(record) for record in records]
    if beside is not None:
        members = await beside(records)
        pairs = zip(data, records, strict=True)
        data = [{**msgspec.to_builtins(shown), **members[one.id]} for shown, one in pairs]
    return json_response({"success": True, "data": data, "meta": PageMeta(page, limit, total)})


def query_integer(params: Mapping[str, str], name: str, default: int, maximum: int) -> int:
    """An integer of the query string."""
    text = params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= maximum):
        raise Malformed(f"'{name}' is '{text[:40]}'; use an integer from 1 to {maximum:,}")
    return int(text)


def page_parameters(records: str) -> tuple[Parameter, Parameter]:
    """The OpenAPI parameters of a list."""
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    return (
        Parameter("limit", f"{records} of a page", limit),
        Parameter("page", "which page", page),
    )
