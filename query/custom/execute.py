"""Asking: a custom query, whose rows it may see, and the rows of one version."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from query.custom.aggregates import Gives
from query.custom.compiler import compiled, counted
from query.custom.request import MOST_DAYS, CustomBody
from query.custom.tables import CustomTable
from query.custom.validation import Plan, check
from query.dependencies import Desk
from query.engine.engine import PartGone, Row, Sql
from query.engine.snapshots import AsOf, Pinned
from query.request.subject import Who
from query.request.time_parameters import asked_span
from query.request.time_range import Span, checked_zone
from query.response.response_budget import AnswerBudget
from query.scope.scope import Scope
from query.standard.declaration.query_type import Subject
from schemas.errors import Forbidden, Malformed, Unavailable
from schemas.http.auth import NO_REACH
from schemas.registry import Key
from schemas.runtime.clock import iso
from schemas.tables import CLICKS, Type

DIGITS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


class Seen(Struct, frozen=True):
    """Which rows of the stored table the caller sees."""

    column: str
    value: str


class Asked(Struct, frozen=True):
    """A custom query that is sound, and complete."""

    owner: str
    """The organization that asks."""
    plan: Plan
    seen: Seen
    span: Span
    limit: int
    offset: int
    as_of: AsOf
    include_bots: bool

    def scope(self, pinned: Pinned) -> Scope:
        """What it may see in that version."""
        table = self.plan.table
        own = f"\n AND {table.where}" if table.where else ""
        filters = Sql("") if table.live else self.plan.where
        return Scope(
            pinned=pinned,
            subject_column=self.seen.column,
            subject=self.seen.value,
            span=self.span,
            where=Sql(own + filters.text, filters.values),
            include_bots=self.include_bots,
        )

    async def sql(self, desk: Desk, pinned: Pinned) -> Sql:
        """The statement over that version."""
        scope = self.scope(pinned)
        return await compiled(desk.custom.of(self.owner), self.plan, scope, self.limit, self.offset)


class Found(Struct, frozen=True):
    """The rows of one page, from one version."""

    rows: Sequence[Row]
    total: int
    pinned: Pinned


def asked(desk: Desk, body: CustomBody, who: Who, key: Key, zone: str | None) -> Asked:
    """The query of a body; the query string's `zone` goes first, that of the subject last."""
    plan = check(body.query)
    seen = seen_by(plan.table, who, key)
    name = checked_zone("timezone", zone or body.timezone or who.zone)
    whole = asked_span(body.start_date, body.end_date, body.preset, name, desk.clock(), MOST_DAYS)
    if plan.granularity is not None:
        whole.points(plan.granularity)  # too many are refused
    offset = (body.page - 1) * body.limit
    return Asked(who.owner, plan, seen, whole, body.limit, offset, body.as_of, body.include_bots)


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


async def found(desk: Desk, one: Asked, budget: AnswerBudget) -> Found:
    """The rows from one version; anew when a part was compacted away meanwhile."""
    table = one.plan.table.stored
    for anew in (False, True):
        pinned = await desk.shelf.pin_at(table, one.as_of, anew)
        try:
            return await _page(desk, one, pinned, budget)
        except PartGone:
            continue
    await desk.shelf.refuse_gone(one.as_of, [table])
    raise Unavailable("The stored data cannot be read at the moment")


async def _page(desk: Desk, one: Asked, pinned: Pinned, budget: AnswerBudget) -> Found:
    engine = desk.custom.of(one.owner)
    rows = await engine.rows(await one.sql(desk, pinned), budget.seconds)
    total = rows[0][-1] if rows else 0
    if not rows and one.offset:
        count = await counted(engine, one.plan, one.scope(pinned))
        [(total,)] = await engine.rows(count, budget.seconds)
    return Found([row[:-1] for row in rows], total, pinned)


def shaped(one: Asked, rows: Sequence[Row]) -> Sequence[Mapping[str, object]]:
    """Result rows by name, every value one that JSON has."""
    plan = one.plan
    instants = [group.type is Type.TIMESTAMP for group in plan.groups]
    for each in plan.selects:
        kept = each.aggregate.gives is Gives.SAME
        instants.append(kept and each.column is not None and each.column.type is Type.TIMESTAMP)
    return [
        {
            name: _json(value, instant)
            for name, value, instant in zip(plan.outputs, row, instants, strict=True)
        }
        for row in _labelled(one, rows)
    ]


def _labelled(one: Asked, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with the label of their bucket of time."""
    granularity = one.plan.granularity
    if granularity is None:
        return rows
    labels = {point.bucket: point.label for point in one.span.points(granularity)}
    at = next(i for i, group in enumerate(one.plan.groups) if group.granularity)
    return [(*row[:at], labels[row[at]], *row[at + 1 :]) for row in rows]


def _json(value: object, instant: bool) -> object:
    if instant and isinstance(value, int):
        return iso(value)
    if isinstance(value, Decimal | float):
        return round(float(value), DIGITS)
    return value
