"""Answering: every question of one request, from one version per table, each with its outcome."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from query.bodies import converted
from query.desk import Desk
from query.engine import PartGone
from query.snapshots import Pinned
from query.standard import QUERY_TYPES, QueryType, Subject
from query.standard.comparison import Comparison, comparison
from query.standard.requests import Asked, Questions
from query.standard.run import Answer, Work, run
from query.standard.scoping import scope_of
from query.subjects import Who
from query.suggest import unknown
from schemas.failures import DataDamaged, Failure, Malformed, Unavailable
from schemas.tables import Table

AT_ONCE = 4
"""Questions of one request that run at the same time."""


class Answered(Struct, frozen=True):
    """One answer, and what was asked for beside it."""

    answer: Answer
    partial: str | None = None
    """Of a series: the label of the bucket that can still grow."""
    comparison: Comparison | None = None


Outcome = Answered | Failure
Pins = Mapping[str, Pinned]


async def answers(desk: Desk, who: Who, asked: Questions) -> tuple[Pins, Sequence[Outcome]]:
    """Every outcome, from one version per table; anew when a part was compacted away meanwhile."""
    try:
        return await _from_pinned(desk, who, asked, anew=False)
    except PartGone:
        pass
    try:
        return await _from_pinned(desk, who, asked, anew=True)
    except PartGone:
        pass
    tables = {t.name: t for a in asked.asked for t in tables_of(a, who)}
    await desk.shelf.refuse_gone(asked.as_of, tables.values())
    raise Unavailable("The stored data cannot be read at the moment")


async def _from_pinned(
    desk: Desk, who: Who, asked: Questions, anew: bool
) -> tuple[Pins, Sequence[Outcome]]:
    tables = {t.name: t for a in asked.asked for t in tables_of(a, who)}
    pins: dict[str, Pinned] = {}
    damaged: dict[str, DataDamaged] = {}
    for name, table in tables.items():
        try:
            pins[name] = await desk.shelf.pin_at(table, asked.as_of, anew)
        except DataDamaged as refused:  # questions about the other tables are answered
            damaged[name] = refused
    turns = Turns(desk.seconds)
    outcomes = await asyncio.gather(
        *(turns.take(partial(_outcome, desk, who, asked, a, pins, damaged)) for a in asked.asked)
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
        """The outcome of a question that is told when its time ends, in the loop's time."""
        async with self._free:
            return await ask(self._ends)


async def _outcome(
    desk: Desk,
    who: Who,
    asked: Questions,
    one: Asked,
    pins: Pins,
    damaged: Mapping[str, DataDamaged],
    ends: float,
) -> Outcome:
    for table in tables_of(one, who):
        if table.name in damaged:
            return damaged[table.name]
    try:
        work = _work(desk, who, asked, one, pins, ends)
        answer = await run(work, asked.page)
        compared = None
        if one.other is not None:
            other = structs.replace(one, span=one.other)
            points = work.points if work.query_type.timed else []
            held = _work(desk, who, asked, other, pins, ends)
            compared = await comparison(held, answer, points)
        partial = None
        if work.query_type.timed:
            partial = work.scope.span.running(work.now_ms, work.bucketed.granularity)
        return Answered(answer, partial, compared)
    except Failure as refused:
        return refused


def _work(desk: Desk, who: Who, asked: Questions, one: Asked, pins: Pins, ends: float) -> Work:
    query_type = known(one.name, who.kind)
    now_ms = desk.clock()
    options = query_type.options and converted(one.own, query_type.options, one.at)
    scope = scope_of(query_type, who.id, asked, one, pins, now_ms)
    engine = desk.standard.of(who.owner)
    return Work(engine, query_type, scope, options, now_ms, ends)


def known(name: str, kind: Subject) -> QueryType:
    """The query type of that name for that kind of subject."""
    query_type = QUERY_TYPES.get(name)
    if query_type is None:
        fitting = [n for n, each in QUERY_TYPES.items() if each.subject is kind]
        raise Malformed(unknown("query type", name, fitting))
    if query_type.subject is not kind:
        raise Malformed(f"Query type '{name}' is asked with '{query_type.subject}', not '{kind}'")
    return query_type


def tables_of(one: Asked, who: Who) -> Sequence[Table]:
    """The tables that a question reads."""
    query_type = QUERY_TYPES.get(one.name)
    return query_type.tables if query_type and query_type.subject is who.kind else ()
