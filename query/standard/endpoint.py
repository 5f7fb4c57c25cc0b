"""POST /v1/query: several named questions about one subject; each has an outcome of its own."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import body_of
from query.desk import Desk
from query.engine import PartGone
from query.filters import Field, conditions, counted
from query.formats import FORMATS, JSON, Format
from query.formats.answer import Streamed, cut
from query.formats.choosing import chosen, only_one
from query.formats.rows import table_of
from query.scoped import Scope
from query.snapshots import Pinned
from query.standard import QUERY_TYPES, QueryType, Subject
from query.standard.requests import DEFAULT_LIMIT, Asked, Questions, StandardBody, questions
from query.standard.run import run
from query.suggest import unknown
from schemas.edge.identity import reach_link, reach_website
from schemas.failures import Failure, Malformed, Unavailable
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import Scope as KeyScope
from schemas.tables import Table

Entry = dict[str, object]
Outcome = Sequence[Struct] | Failure


class Who(Struct, frozen=True):
    """The subject of a request."""

    kind: Subject
    id: str


async def standard(desk: Desk, request: Request) -> Response:
    """Answer a request."""
    key = desk.admit(request, KeyScope.READ_DATA, Group.QUERY)
    who = subject(desk, key, request)
    format_ = chosen(request, FORMATS, JSON)
    body = await body_of(request, StandardBody)
    asked = questions(body, request.query_params.get("timezone"), desk.clock())
    if format_ is not JSON:
        only_one(format_, len(asked.asked))
    pins, outcomes = await _outcomes(desk, who, asked)
    if format_ is not JSON:
        return _table_of(format_, asked.asked[0], outcomes[0])
    return answered(
        {
            "success": True,
            "queryId": f"q_{secrets.token_hex(8)}",
            "data": [_entry(a, o) for a, o in zip(asked.asked, outcomes, strict=True)],
            "meta": await _meta(desk, asked, pins),
        }
    )


def _table_of(format_: Format, one: Asked, outcome: Outcome) -> Response:
    if isinstance(outcome, Failure):
        raise outcome
    columns, rows = table_of(QUERY_TYPES[one.name].row, outcome)
    return Streamed(format_, one.name, columns, cut(rows))


def subject(desk: Desk, key: Key, request: Request) -> Who:
    """The one subject that the query string names, when the key reaches it."""
    given = [(kind, request.query_params.get(kind)) for kind in Subject]
    named = [Who(kind, value) for kind, value in given if value]
    if len(named) != 1:
        said = "both" if named else "neither"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, not {said}")
    who = named[0]
    reach = reach_website if who.kind is Subject.WEBSITE else reach_link
    reach(desk.registry, key, who.id)
    return who


async def _outcomes(
    desk: Desk, who: Who, asked: Questions
) -> tuple[Mapping[str, Pinned], Sequence[Outcome]]:
    """Every outcome, from one version per table; anew when a part was compacted away meanwhile."""
    try:
        return await _from_pinned(desk, who, asked, anew=False)
    except PartGone:
        pass
    try:
        return await _from_pinned(desk, who, asked, anew=True)
    except PartGone:
        raise Unavailable("The stored data cannot be read at the moment") from None


async def _from_pinned(
    desk: Desk, who: Who, asked: Questions, anew: bool
) -> tuple[Mapping[str, Pinned], Sequence[Outcome]]:
    tables = {t.name: t for a in asked.asked if (t := _table(a, who))}
    pins = {name: await desk.shelf.pin(table, anew) for name, table in tables.items()}
    outcomes = await asyncio.gather(*(_outcome(desk, who, asked, a, pins) for a in asked.asked))
    broken = [o for o in outcomes if isinstance(o, Unavailable)]
    if len(broken) == len(outcomes):
        raise broken[0]
    return pins, outcomes


async def _outcome(
    desk: Desk, who: Who, asked: Questions, one: Asked, pins: Mapping[str, Pinned]
) -> Outcome:
    try:
        query_type = known(one.name, who.kind)
        table = query_type.table
        scope = Scope(
            pinned=pins[table.name],
            subject_column=table.subject,
            subject=who.id,
            span=one.span,
            granularity=one.granularity,
            where=conditions(asked.filters, fields(table), f"table '{table.name}'"),
            include_bots=asked.include_bots,
        )
        return await run(desk.standard, query_type, scope, asked.page, desk.seconds)
    except Failure as refused:
        return refused


def known(name: str, kind: Subject) -> QueryType:
    """The query type of that name for that kind of subject."""
    query_type = QUERY_TYPES.get(name)
    if query_type is None:
        fitting = [n for n, each in QUERY_TYPES.items() if each.subject is kind]
        raise Malformed(unknown("query type", name, fitting))
    if query_type.subject is not kind:
        raise Malformed(f"Query type '{name}' is asked with '{query_type.subject}', not '{kind}'")
    return query_type


def fields(table: Table) -> Mapping[str, Field]:
    """The columns of a table that filters may name."""
    return {c.name: Field(c.type, c.name) for c in table.columns if c.public}


def _table(one: Asked, who: Who) -> Table | None:
    query_type = QUERY_TYPES.get(one.name)
    return query_type.table if query_type and query_type.subject is who.kind else None


def _entry(one: Asked, outcome: Outcome) -> Entry:
    if isinstance(outcome, Failure):
        return {
            "parameter": one.label,
            "success": False,
            "error": outcome.message,
            "code": outcome.code,
            "data": [],
        }
    return {"parameter": one.label, "success": True, "data": outcome}


async def _meta(desk: Desk, asked: Questions, pins: Mapping[str, Pinned]) -> Entry:
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
