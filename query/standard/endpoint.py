"""POST /v1/query: several named questions about one subject; each has an outcome of its own.

A body may be an array of such requests. Each counts against the allowance by itself and fails
alone, and all of them share one budget of time, rows and bytes.
"""

import secrets
from functools import partial

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import Desk
from query.formats.negotiation import chosen, only_one
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import table_of
from query.formats.table_response import written
from query.request.body import bytes_of, decoded
from query.request.filters import counted
from query.request.subject import Who, subject
from query.response.json_response import Encoded, encoded, pieces_of
from query.response.large_response import LargeResponse
from query.response.response_budget import AnswerBudget
from query.standard.batch import Answered, Batch, Pins, answers
from query.standard.query_types import QUERY_TYPES
from query.standard.request import DEFAULT_LIMIT, Asked, Questions, StandardBody, questions
from schemas.errors import Failure, Malformed
from schemas.http.error_bodies import encode, of_query
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import Scope as KeyScope

Entry = dict[str, object]

MOST_REQUESTS = 25
"""Requests of one body."""
OF_ONE_COST = 10
"""Query types that one request may name for the allowance of one; each ten more cost one more."""


async def standard(desk: Desk, request: Request) -> Response:
    """Answer a request, or an array of them."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.QUERY)
    who = subject(desk, key, request)
    format_ = chosen(request, FORMATS, JSON)
    body = await bytes_of(request)
    if body.lstrip()[:1] == b"[":
        bodies = _bodies(body, format_)
        return await desk.bounded(
            request, who.owner, partial(_batch, desk, request, key, who, bodies)
        )
    asked = _asked(desk, request, key, who, body)
    if format_ is JSON:
        return await desk.bounded(request, who.owner, partial(_alone, desk, who, asked))
    only_one(format_, len(asked.asked))
    return await desk.bounded(request, who.owner, partial(_table, desk, who, asked, format_))


def _asked(desk: Desk, request: Request, key: Key, who: Who, body: bytes) -> Questions:
    """The questions of a request, which is counted once already."""
    zone = request.query_params.get("timezone")
    asked = questions(decoded(body, StandardBody), zone, desk.clock(), who.zone)
    if more := (len(asked.asked) - 1) // OF_ONE_COST:
        desk.count(request, key, Group.QUERY, more)
    return asked


def _bodies(body: bytes, format_: Format) -> list[bytes]:
    """The requests of an array."""
    bodies = decoded(body, list[msgspec.Raw])
    if format_ is not JSON:
        raise Malformed(f"Format '{format_.name}' holds one table; send one request, not an array")
    if not 1 <= len(bodies) <= MOST_REQUESTS:
        raise Malformed(
            f"The body is an array of {len(bodies)} requests; 1 to {MOST_REQUESTS} are allowed"
        )
    return [bytes(each) for each in bodies]


async def _alone(desk: Desk, who: Who, asked: Questions, budget: AnswerBudget) -> Response:
    return _response(await _whole(Batch(desk, who, asked, budget)), budget)


async def _batch(
    desk: Desk, request: Request, key: Key, who: Who, bodies: list[bytes], budget: AnswerBudget
) -> Response:
    """One request after the other; the first is already counted."""
    results = []
    for i, each in enumerate(bodies):
        before = budget.mark()
        try:
            if i:
                desk.count(request, key, Group.QUERY)
            asked = _asked(desk, request, key, who, each)
            result = await _whole(Batch(desk, who, asked, budget))
        except Failure as refused:
            budget.back_to(before)
            result = of_query(refused)
        results.append(Encoded(tuple(pieces_of(result))))
    return _response({"success": True, "batch": True, "results": results}, budget)


async def _table(
    desk: Desk, who: Who, asked: Questions, format_: Format, budget: AnswerBudget
) -> Response:
    """The rows of the one query type that is asked."""

    def make(one: Asked, answered: Answered) -> Response:
        columns, rows = table_of(QUERY_TYPES[one.name].row, answered.answer.rows)
        return written(format_, one.name, columns, rows, budget)

    _, [outcome] = await answers(Batch(desk, who, asked, budget), make)
    if isinstance(outcome, Failure):
        raise outcome
    return outcome


async def _whole(batch: Batch) -> Entry:
    """The answer to one request, as the contract has it."""

    def make(one: Asked, answered: Answered) -> Encoded:
        return encoded(_entry(one, answered), batch.budget)

    pins, outcomes = await answers(batch, make)
    return {
        "success": True,
        "queryId": f"q_{secrets.token_hex(8)}",
        "data": [
            _refused(one, outcome) if isinstance(outcome, Failure) else outcome
            for one, outcome in zip(batch.asked.asked, outcomes, strict=True)
        ],
        "meta": await _meta(batch.desk, batch.asked, pins),
    }


def _response(body: Entry, budget: AnswerBudget) -> Response:
    return LargeResponse(pieces_of(body), budget, media_type="application/json")


def _refused(one: Asked, failure: Failure) -> Encoded:
    entry: Entry = {
        "parameter": one.label,
        "success": False,
        "error": failure.message,
        "code": failure.code,
        "data": [],
    }
    return Encoded((encode(entry),))


def _entry(one: Asked, answered: Answered) -> Entry:
    meta: Entry = {"totalRows": answered.answer.total}
    if QUERY_TYPES[one.name].timed:
        meta["partialBucket"] = answered.partial
    entry: Entry = {"parameter": one.label, "success": True, "data": answered.answer.rows}
    compared = answered.comparison
    shown = {"comparison": structs.asdict(compared)} if compared else {}
    return {**entry, "meta": meta, **shown}


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
