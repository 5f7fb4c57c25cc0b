"""POST /v1/query: several named questions about one subject; each has an outcome of its own."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.answers import answered
from query.bodies import body_of, converted
from query.desk import Desk
from query.engine import PartGone
from query.filters import counted
from query.formats import FORMATS, JSON, Format
from query.formats.answer import Streamed, cut
from query.formats.choosing import chosen, only_one
from query.formats.rows import table_of
from query.snapshots import Pinned
from query.standard import QUERY_TYPES, QueryType, Subject
from query.standard.requests import DEFAULT_LIMIT, Asked, Questions, StandardBody, questions
from query.standard.run import Answer, Work, run
from query.standard.scoping import scope_of
from query.suggest import unknown
from schemas.edge.identity import reach_link, reach_website
from schemas.failures import Failure, Malformed, Unavailable
from schemas.plans import Group
from schemas.registry import Key
from schemas.registry import Scope as KeyScope
from schemas.tables import Table

Entry = dict[str, object]
Outcome = Answer | Failure

AT_ONCE = 4
"""Questions of one request that run at the same time."""


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
    columns, rows = table_of(QUERY_TYPES[one.name].row, outcome.rows)
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
    tables = {t.name: t for a in asked.asked for t in _tables(a, who)}
    pins = {name: await desk.shelf.pin(table, anew) for name, table in tables.items()}
    turns = Turns(desk.seconds)
    outcomes = await asyncio.gather(
        *(turns.take(partial(_outcome, desk, who, asked, a, pins)) for a in asked.asked)
    )
    broken = [o for o in outcomes if isinstance(o, Unavailable)]
    if len(broken) == len(outcomes):
        raise broken[0]
    return pins, outcomes


class Turns:
    """Questions of one request a few at a time, so that it never fills the pool's queue alone.

    All of them share one deadline.
    """

    def __init__(self, seconds: float) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        self._ends = asyncio.get_running_loop().time() + seconds

    async def take(self, ask: Callable[[float], Awaitable[Outcome]]) -> Outcome:
        """The outcome of a question that is told how many seconds are left."""
        async with self._free:
            return await ask(max(0.0, self._ends - asyncio.get_running_loop().time()))


async def _outcome(
    desk: Desk,
    who: Who,
    asked: Questions,
    one: Asked,
    pins: Mapping[str, Pinned],
    seconds: float,
) -> Outcome:
    try:
        query_type = known(one.name, who.kind)
        now_ms = desk.clock()
        options = query_type.options and converted(one.own, query_type.options, one.at)
        scope = scope_of(query_type, who.id, asked, one, pins, now_ms)
        work = Work(desk.standard, query_type, scope, options, now_ms, seconds)
        return await run(work, asked.page)
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


def _tables(one: Asked, who: Who) -> Sequence[Table]:
    query_type = QUERY_TYPES.get(one.name)
    return query_type.tables if query_type and query_type.subject is who.kind else ()


def _entry(one: Asked, outcome: Outcome) -> Entry:
    if isinstance(outcome, Failure):
        return {
            "parameter": one.label,
            "success": False,
            "error": outcome.message,
            "code": outcome.code,
            "data": [],
        }
    return {"parameter": one.label, "success": True, "data": outcome.rows}


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
