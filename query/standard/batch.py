"""Answering: every question of one request, from one version per table, each with its outcome."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, structs

from query.dependencies import Desk
from query.engine.deadline import overdue
from query.engine.engine import PartGone
from query.engine.snapshots import Pinned
from query.request.body import converted
from query.request.subject import Who
from query.request.suggestions import unknown
from query.response.response_budget import AnswerBudget
from query.response.worker_threads import aside
from query.standard.comparison import Comparison, comparison
from query.standard.execute import Answer, Work, run
from query.standard.query_types import QUERY_TYPES, QueryType, Subject
from query.standard.request import Asked, Questions
from query.standard.scope import scope_of
from schemas.errors import DataDamaged, Failure, Malformed, Unavailable
from schemas.tables import Table

AT_ONCE = 4
"""Questions of one request that run at the same time, so that it never fills the queue alone."""


class Answered(Struct, frozen=True):
    """One answer, and what was asked for beside it."""

    answer: Answer
    partial: str | None = None
    """Of a series: the label of the bucket that can still grow."""
    comparison: Comparison | None = None


class Batch(Struct, frozen=True):
    """The query types of one request, asked within one budget."""

    desk: Desk
    who: Who
    asked: Questions
    budget: AnswerBudget

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables that are read."""
        return {t.name: t for one in self.asked.asked for t in tables_of(one, self.who)}


Pins = Mapping[str, Pinned]

Made = TypeVar("Made")
Make = Callable[[Asked, Answered], Made]
"""Makes of an answer what is kept of it; runs in a thread where there are many rows."""


async def answers(batch: Batch, make: Make[Made]) -> tuple[Pins, Sequence[Made | Failure]]:
    """Every outcome, from one version per table; anew when a part was compacted away meanwhile."""
    before = batch.budget.mark()
    try:
        return await _from_pinned(batch, make, anew=False)
    except PartGone:
        batch.budget.back_to(before)
    try:
        return await _from_pinned(batch, make, anew=True)
    except PartGone:
        pass
    await batch.desk.shelf.refuse_gone(batch.asked.as_of, batch.tables.values())
    raise Unavailable("The stored data cannot be read at the moment")


async def _from_pinned(
    batch: Batch, make: Make[Made], anew: bool
) -> tuple[Pins, Sequence[Made | Failure]]:
    pins, damaged = await _pinned(batch, anew)
    turns = asyncio.Semaphore(AT_ONCE)

    async def outcome(one: Asked) -> Made | Failure:
        for table in tables_of(one, batch.who):
            if table.name in damaged:
                return damaged[table.name]
        async with turns:
            return await _outcome(batch, one, pins, make)

    asking = [asyncio.create_task(outcome(one)) for one in batch.asked.asked]
    try:
        outcomes = await asyncio.gather(*asking)
    finally:
        for task in asking:
            task.cancel()  # those that one failure left behind
    broken = [o for o in outcomes if isinstance(o, Unavailable)]
    if len(broken) == len(outcomes):
        raise broken[0]
    return pins, outcomes


async def _pinned(batch: Batch, anew: bool) -> tuple[Pins, Mapping[str, DataDamaged]]:
    """The version of each table; questions about others than a damaged one are answered."""
    pins: dict[str, Pinned] = {}
    damaged: dict[str, DataDamaged] = {}
    for name, table in batch.tables.items():
        try:
            pins[name] = await batch.desk.shelf.pin_at(table, batch.asked.as_of, anew)
        except DataDamaged as refused:
            damaged[name] = refused
    return pins, damaged


async def _outcome(batch: Batch, one: Asked, pins: Pins, make: Make[Made]) -> Made | Failure:
    budget = batch.budget
    try:
        budget.check()
        async with asyncio.timeout_at(budget.ends):
            answered = await _answered(batch, one, pins)
            compared = answered.comparison.rows if answered.comparison else ()
            budget.take_rows(len(answered.answer.rows) + len(compared))
            return await aside(len(answered.answer.rows), partial(make, one, answered))
    except Failure as refused:
        return refused
    except TimeoutError:
        return overdue()


async def _answered(batch: Batch, one: Asked, pins: Pins) -> Answered:
    work = _work(batch, one, pins)
    answer = await run(work, batch.asked.page)
    compared = running = None
    if one.other is not None:
        points = work.points if work.query_type.timed else []
        held = _work(batch, structs.replace(one, span=one.other), pins)
        compared = await comparison(held, answer, points)
    if work.query_type.timed:
        running = work.scope.span.running(work.now_ms, work.bucketed.granularity)
    return Answered(answer, running, compared)


def _work(batch: Batch, one: Asked, pins: Pins) -> Work:
    who, desk = batch.who, batch.desk
    query_type = known(one.name, who.kind)
    now_ms = desk.clock()
    options = query_type.options and converted(one.own, query_type.options, one.at)
    scope = scope_of(query_type, who.id, batch.asked, one, pins, now_ms)
    engine = desk.standard.of(who.owner)
    return Work(engine, query_type, scope, options, now_ms, batch.budget.ends)


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
