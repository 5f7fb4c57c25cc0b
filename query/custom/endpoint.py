"""POST /v1/query/custom: one free-form question about one subject."""

import time
from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import body_of
from query.custom.aggregates import Gives
from query.custom.check import Chosen, Plan, check
from query.custom.compile import compiled
from query.custom.requests import MOST_DAYS, CustomBody
from query.custom.tables import CustomTable
from query.desk import Desk
from query.engine import PartGone, Row, Sql
from query.formats import FORMATS, JSON
from query.formats.answer import Streamed, cut
from query.formats.choosing import chosen
from query.formats.columns import KINDS, Column, Kind
from query.formats.rows import listed
from query.moments import asked_span
from query.scoped import Scope
from query.snapshots import Pinned
from query.span import Span, checked_zone
from query.standard.forms import iso
from query.standard.spec import Subject
from query.subjects import Who, subject
from schemas.edge.identity import NO_REACH
from schemas.failures import Forbidden, Malformed, Unavailable
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import Scope as KeyScope
from schemas.tables import CLICKS, Type

DIGITS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


class Seen(Struct, frozen=True):
    """Which rows of the stored table the caller sees."""

    column: str
    value: str


async def custom(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.CUSTOM)
    who = subject(desk, key, request)
    format_ = chosen(request, FORMATS, JSON)
    began = time.perf_counter()
    body = await body_of(request, CustomBody)
    plan = check(body.query)
    seen = seen_by(plan.table, who, key)
    zone = checked_zone("timezone", request.query_params.get("timezone") or body.timezone or "UTC")
    days = asked_span(body.start_date, body.end_date, body.preset, zone, desk.clock(), MOST_DAYS)
    pinned, rows = await _rows(desk, plan, seen, days, body)
    if format_ is not JSON:
        columns = _columns(plan)
        return Streamed(format_, plan.table.name, columns, cut(listed(columns, shaped(plan, rows))))
    fresh = await desk.watch.of([pinned])
    meta = {
        "rowCount": len(rows),
        "executionTime": round((time.perf_counter() - began) * 1000),
        "timezone": zone,
        "watermark": fresh.watermark,
        "lagSeconds": fresh.lag_seconds,
        "versions": {pinned.version.table.name: pinned.version.number},
    }
    return answered({"success": True, "data": shaped(plan, rows), "meta": meta})


def seen_by(table: CustomTable, who: Who, key: Key) -> Seen:
    """Rows of the website or the link; clicks of a website: of all its organization's links."""
    stored = table.stored
    if who.kind is Subject.LINK and stored is not CLICKS:
        raise Malformed(f"Table '{table.name}' is asked with 'website_id', not 'link_id'")
    if who.kind is Subject.WEBSITE and stored is CLICKS:
        if key.website_id is not None:
            raise Forbidden(NO_REACH.format(what="links of the organization"))
        return Seen("organization_id", key.organization_id)
    return Seen(stored.subject, who.id)


async def _rows(
    desk: Desk, plan: Plan, seen: Seen, days: Span, body: CustomBody
) -> tuple[Pinned, Sequence[Row]]:
    """The rows from one version; anew when a part was compacted away meanwhile."""
    for anew in (False, True):
        pinned = await desk.shelf.pin(plan.table.stored, anew)
        try:
            sql = await compiled(
                desk.custom, plan, _scope(plan, seen, days, body, pinned), body.limit
            )
            return pinned, await desk.custom.rows(sql, desk.seconds)
        except PartGone:
            continue
    raise Unavailable("The stored data cannot be read at the moment")


def _scope(plan: Plan, seen: Seen, days: Span, body: CustomBody, pinned: Pinned) -> Scope:
    own = f"\n AND {plan.table.where}" if plan.table.where else ""
    filters = Sql("") if plan.table.live else plan.where
    return Scope(
        pinned=pinned,
        subject_column=seen.column,
        subject=seen.value,
        span=days,
        where=Sql(own + filters.text, filters.values),
        include_bots=body.include_bots,
    )


def shaped(plan: Plan, rows: Sequence[Row]) -> Sequence[Mapping[str, object]]:
    """Result rows by name, every value one that JSON has."""
    instants = [group.type is Type.TIMESTAMP for group in plan.groups]
    for each in plan.selects:
        kept = each.aggregate.gives is Gives.SAME
        instants.append(kept and each.column is not None and each.column.type is Type.TIMESTAMP)
    return [
        {
            name: _json(value, instant)
            for name, value, instant in zip(plan.outputs, row, instants, strict=True)
        }
        for row in rows
    ]


def _columns(plan: Plan) -> list[Column]:
    """The result's columns for a format that is a table."""
    groups = [Column(group.name, KINDS[group.type]) for group in plan.groups]
    return groups + [Column(each.alias, _kind(each)) for each in plan.selects]


def _kind(each: Chosen) -> Kind:
    if each.aggregate.gives is Gives.SAME and each.column is not None:
        return KINDS[each.column.type]
    return Kind.INTEGER if each.aggregate.name in ("count", "uniq") else Kind.NUMBER


def _json(value: object, instant: bool) -> object:
    if instant and isinstance(value, int):
        return iso(value)
    if isinstance(value, Decimal | float):
        return round(float(value), DIGITS)
    return value
