"""POST /v1/query: several named questions about one subject; each has an outcome of its own.

A body may be an array of such requests. Each counts as one, and each fails alone.
"""

import secrets

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import bytes_of, decoded
from query.desk import Desk
from query.filters import counted
from query.formats import FORMATS, JSON, Format
from query.formats.answer import Streamed, cut
from query.formats.choosing import chosen, only_one
from query.formats.rows import table_of
from query.standard import QUERY_TYPES
from query.standard.answering import Outcome, Pins, answers
from query.standard.requests import DEFAULT_LIMIT, Asked, Questions, StandardBody, questions
from query.subjects import Who, subject
from schemas.failures import Failure, Malformed
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import Scope as KeyScope

Entry = dict[str, object]

MOST_REQUESTS = 25
"""Requests of one body."""


async def standard(desk: Desk, request: Request) -> Response:
    """Answer a request, or an array of them."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.QUERY)
    who = subject(desk, key, request)
    format_ = chosen(request, FORMATS, JSON)
    body = await bytes_of(request)
    zone = request.query_params.get("timezone")
    if body.lstrip()[:1] == b"[":
        return answered(await _batch(desk, request, key, who, format_, body))
    asked = questions(decoded(body, StandardBody), zone, desk.clock(), who.zone)
    if format_ is JSON:
        return answered(await _whole(desk, who, asked))
    only_one(format_, len(asked.asked))
    _, outcomes = await answers(desk, who, asked)
    return _table_of(format_, asked.asked[0], outcomes[0])


async def _batch(
    desk: Desk, request: Request, key: Key, who: Who, format_: Format, body: bytes
) -> Entry:
    """One request after the other; the first is already counted."""
    bodies = decoded(body, list[msgspec.Raw])
    if format_ is not JSON:
        raise Malformed(f"Format '{format_.name}' holds one table; send one request, not an array")
    if not 1 <= len(bodies) <= MOST_REQUESTS:
        raise Malformed(
            f"The body is an array of {len(bodies)} requests; 1 to {MOST_REQUESTS} are allowed"
        )
    zone = request.query_params.get("timezone")
    results = []
    for i, each in enumerate(bodies):
        try:
            if i:
                desk.count(request, key, Group.QUERY)
            asked = questions(decoded(bytes(each), StandardBody), zone, desk.clock(), who.zone)
            results.append(await _whole(desk, who, asked))
        except Failure as refused:
            results.append(
                {"success": False, "error": refused.message, "code": refused.code, **refused.more}
            )
    return {"success": True, "batch": True, "results": results}


async def _whole(desk: Desk, who: Who, asked: Questions) -> Entry:
    """The answer to one request, as the contract has it."""
    pins, outcomes = await answers(desk, who, asked)
    return {
        "success": True,
        "queryId": f"q_{secrets.token_hex(8)}",
        "data": [_entry(a, o) for a, o in zip(asked.asked, outcomes, strict=True)],
        "meta": await _meta(desk, asked, pins),
    }


def _table_of(format_: Format, one: Asked, outcome: Outcome) -> Response:
    if isinstance(outcome, Failure):
        raise outcome
    columns, rows = table_of(QUERY_TYPES[one.name].row, outcome.answer.rows)
    return Streamed(format_, one.name, columns, cut(rows))


def _entry(one: Asked, outcome: Outcome) -> Entry:
    if isinstance(outcome, Failure):
        return {
            "parameter": one.label,
            "success": False,
            "error": outcome.message,
            "code": outcome.code,
            "data": [],
        }
    meta: Entry = {"totalRows": outcome.answer.total}
    if QUERY_TYPES[one.name].timed:
        meta["partialBucket"] = outcome.partial
    compared = {"comparison": outcome.comparison} if outcome.comparison else {}
    rows = outcome.answer.rows
    return {"parameter": one.label, "success": True, "data": rows, "meta": meta, **compared}


async def _meta(desk: Desk, asked: Questions, pins: Pins) -> Entry:
    fresh = await desk.watch.of(pins.values())
    return {
        "parameters": [one.label for one in asked.asked],
        "total_parameters": len(asked.asked),
        "page": asked.page.number,
        "limit": asked.page.limit or DEFAULT_LIMIT,
        "filters_applied": counted(asked.filters),
        "timezone": asked.zone,
        "watermark": fresh.watermark,
        "lagSeconds": fresh.lag_seconds,
        "versions": {name: pinned.version.number for name, pinned in pins.items()},
    }
