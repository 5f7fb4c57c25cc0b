"""POST /v1/query/custom: one free-form question about one subject."""

import time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from query.custom.aggregates import Gives
from query.custom.execute import Asked, Found, asked, found, shaped
from query.custom.request import CustomBody
from query.custom.validation import Chosen, Plan
from query.dependencies import Desk
from query.formats.columns import KINDS, Column, Kind
from query.formats.negotiation import chosen
from query.formats.output_formats import FORMATS, JSON, Format
from query.formats.result_table import listed
from query.formats.table_response import written
from query.request.body import body_of
from query.request.subject import subject
from query.response.json_response import Encoded, encoded, pieces_of
from query.response.large_response import LargeResponse
from query.response.response_budget import AnswerBudget
from query.response.worker_threads import aside
from schemas.plans import Group
from schemas.registry import Scope as KeyScope


async def custom(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    format_ = chosen(request, FORMATS, JSON)
    began = time.perf_counter()
    body = await body_of(request, CustomBody)
    one = asked(desk, body, who, key, request.query_params.get("timezone"))

    async def work(budget: AnswerBudget) -> Response:
        page = await found(desk, one, budget)
        budget.take_rows(len(page.rows))
        if format_ is not JSON:
            return await aside(len(page.rows), partial(_table, format_, one, page, budget))
        rows = await aside(len(page.rows), partial(_rows, one, page, budget))
        spent = round((time.perf_counter() - began) * 1000)
        meta = {
            "rowCount": len(page.rows),
            "executionTime": spent,
            **await _meta(desk, body, one, page),
        }
        answer = pieces_of({"success": True, "data": rows, "meta": meta})
        return LargeResponse(answer, budget, media_type="application/json")

    return await desk.bounded(request, who.owner, work)


def _rows(one: Asked, page: Found, budget: AnswerBudget) -> Encoded:
    return encoded(shaped(one, page.rows), budget)


def _table(format_: Format, one: Asked, page: Found, budget: AnswerBudget) -> Response:
    columns = _columns(one.plan)
    rows = listed(columns, shaped(one, page.rows))
    return written(format_, one.plan.table.name, columns, rows, budget)


async def _meta(desk: Desk, body: CustomBody, one: Asked, page: Found) -> dict[str, object]:
    fresh = await desk.watch.of([page.pinned])
    version = page.pinned.version
    meta: dict[str, object] = {
        "totalRows": page.total,
        "page": body.page,
        "limit": body.limit,
        "timezone": one.span.zone,
        "watermark": fresh.watermark,
        "lagSeconds": fresh.lag_seconds,
        "versions": {version.table.name: version.number},
    }
    if one.plan.granularity is not None:
        meta["partialBucket"] = one.span.running(desk.clock(), one.plan.granularity)
    return meta


def _columns(plan: Plan) -> list[Column]:
    """The result's columns for a format that is a table."""
    groups = [Column(group.name, KINDS[group.type]) for group in plan.groups]
    return groups + [Column(each.alias, _kind(each)) for each in plan.selects]


def _kind(each: Chosen) -> Kind:
    if each.aggregate.gives is Gives.SAME and each.column is not None:
        return KINDS[each.column.type]
    return Kind.INTEGER if each.aggregate.name in ("count", "uniq") else Kind.NUMBER
