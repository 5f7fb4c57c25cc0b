"""Lists of what the registry keeps: one page of them, oldest first, as every route answers it."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.response.json_value import json_response
from schemas.errors import Malformed
from schemas.registry.record_mapping import RecordT

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
MAX_PAGE = 1_000_000


async def list_page(
    desk: QueryDependencies,
    request: Request,
    kind: type[RecordT],
    where: Mapping[str, Any],
    shown: Callable[[RecordT], Mapping[str, object]],
) -> Response:
    """The page that `page` and `limit` of the query string ask for; Malformed names the rule."""
    given = request.query_params
    limit = query_integer(given, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    page = query_integer(given, "page", 1, MAX_PAGE)
    total = await desk.in_registry(lambda: desk.store.count(kind, **where))
    found = await desk.in_registry(
        lambda: desk.store.list(kind, limit=limit, offset=(page - 1) * limit, **where)
    )
    meta = {"page": page, "limit": limit, "total": total}
    return json_response({"success": True, "data": [shown(one) for one in found], "meta": meta})


def query_integer(given: Mapping[str, str], name: str, default: int, most: int) -> int:
    """A whole number of the query string."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise Malformed(f"'{name}' is '{text[:40]}'; give a whole number from 1 to {most:,}")
    return int(text)
