"""The rows that a query may see: subject, time range, bots, filters (the `scoped` CTE).

`scoped` stands in front of the SQL of every query type. A query type cannot forget the tenant,
because it does not write that condition.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from query.engine.engine import Engine
from query.engine.snapshots import PinnedVersion
from query.request.time_range import Granularity, TimeRange
from query.scope.visits import (
    BY_COLUMN,
    LOOK_AROUND_MS,
    VISIT_JOIN,
    VISIT_VIEWS,
    VisitFact,
    facts_named,
    visit_facts_cte,
)
from query.sql.fragment import Fragment, all_of, merge_values
from query.sql.portable import names_in
from query.sql.row_definitions import PAGE_VIEW, ROW_ORDER
from query.sql.select import Cte, Relation
from schemas.lake.delta_table import DataFile
from schemas.tables import EVENTS, Column, Table

SCOPED = "scoped"
REQUIRED_COLUMNS = ("ts", "is_bot")
VIEW_COLUMNS = ("name", "session_hash", *ROW_ORDER.split(", "))
"""What the facts of visits are computed from, beside their own columns."""
BUCKET = "bucket"
PROPERTY_ENTRIES = "entries"
MS = "ms"
EPOCH = "epoch"


class Scope(Struct, frozen=True):
    """Which rows of a table version a query may see."""

    pinned: PinnedVersion
    subject_column: str
    subject: str
    time_range: TimeRange
    granularity: Granularity = Granularity.DAILY
    where: Fragment = Fragment()
    """A further condition on the rows, by columns of the table."""
    visit_where: Fragment = Fragment()
    """A further condition on the visits of the rows, by facts of the visit."""
    keys: Fragment = Fragment()
    """The visits or visitors of one page of a list; beside the conditions, for all relations."""
    keys_are_visits: bool = False
    """Whether the keys are of visits."""
    fact_range: TimeRange | None = None
    """The time range around which facts of visits are looked up, when rows are read of less."""
    events: PinnedVersion | None = None
    """The version of events that facts of the visit come from."""
    include_bots: bool = False

    @property
    def table(self) -> Table:
        return self.pinned.version.table

    @property
    def data_files(self) -> Sequence[DataFile]:
        """The data files that may hold rows of the subject and the time range."""
        same = self.subject_column == self.table.subject_column
        subject = self.subject if same else None
        return self.pinned.data_files(subject, self.time_range.start_ms, self.time_range.end_ms)


class ScopedRelations(Struct, frozen=True):
    """The CTEs of one or more scopes, in the order of their use, and their bound values."""

    relations: tuple[Relation | Cte, ...]
    values: Mapping[str, object]


class WantedRelation(Struct, frozen=True):
    """A scope and the columns of it that a statement names."""

    scope: Scope
    columns: Sequence[str]


async def scoped_relations(
    engine: Engine, wanted: Mapping[str, WantedRelation], facts_read: Sequence[VisitFact] = ()
) -> ScopedRelations:
    """The CTEs by these names; facts of visits come before them where one is named.

    `facts_read` are facts that the statement itself takes from `visit_facts`.
    Besides the columns of the table there are `ms` (Unix milliseconds of `ts`), `bucket` and the
    facts of the visit. The names of bound values begin with the name of the CTE, those of `scoped`
    excepted.
    """
    named = frozenset(fact.sql_column for fact in facts_read)
    facts = facts_named(named.union(*(_all_names(w) for w in wanted.values())))
    relations: list[Relation | Cte] = []
    values: dict[str, object] = {}
    if facts:
        views = _views_scope(next(iter(wanted.values())).scope)
        columns = list(dict.fromkeys([*VIEW_COLUMNS, *(fact.column for fact in facts)]))
        views_relation = await _relation(engine, VISIT_VIEWS, views, columns)
        relations += [views_relation.relation, visit_facts_cte(facts)]
        values |= views_relation.values
    for name, one in wanted.items():
        relation = await _relation(engine, name, one.scope, one.columns)
        relations.append(relation.relation)
        values = merge_values(values, relation.values)
    return ScopedRelations(tuple(relations), values)


async def scoped_rows(engine: Engine, scope: Scope, columns: Sequence[str]) -> ScopedRelations:
    """The CTE `scoped` with these columns."""
    return await scoped_relations(engine, {SCOPED: WantedRelation(scope, columns)})


class _BoundRelation(Struct, frozen=True):
    relation: Relation
    values: Mapping[str, object]


async def _relation(
    engine: Engine, name: str, scope: Scope, names: Sequence[str]
) -> _BoundRelation:
    where = all_of(scope.where, scope.visit_where, scope.keys)
    source = await engine.relation(scope.data_files, _stored_columns(scope, names))
    bucket = (
        scope.time_range.bucket_sql("UNIX_MS(ts)", scope.granularity)
        if BUCKET in names
        else Fragment()
    )
    expressions = {
        MS: f"UNIX_MS(ts) AS {MS}",
        BUCKET: f"{bucket.text} AS {BUCKET}",
        EPOCH: f"COALESCE({EPOCH}, 0) AS {EPOCH}",  # older rows have no epoch
        **{n: f"{fact.sql_in(scope.table)} AS {n}" for n, fact in BY_COLUMN.items()},
    }
    conditions = [f"{scope.subject_column} = $subject", "ts >= $start", "ts < $end"]
    if not scope.include_bots:
        conditions.append("is_bot IS DISTINCT FROM TRUE")
    if where.text:
        conditions.append(where.text)
    own = {
        "subject": scope.subject,
        "start": _instant(scope.time_range.start_ms),
        "end": _instant(scope.time_range.end_ms),
    }
    values = merge_values(source.values, own, bucket.values, where.values)
    prefix = "" if name == SCOPED else name
    relation = Relation(
        name=name,
        source=source.text,
        columns=tuple(expressions.get(column, column) for column in names) or ("1 AS nothing",),
        conditions=tuple(conditions),
        prefix=prefix,
        joins=(VISIT_JOIN,) if facts_named(_all_names(WantedRelation(scope, names))) else (),
    )
    if prefix:
        values = {f"{prefix}_{key}": value for key, value in values.items()}
    return _BoundRelation(relation, values)


def _all_names(wanted: WantedRelation) -> frozenset[str]:
    """The columns that a relation reads, in its rows and in its conditions."""
    scope = wanted.scope
    conditions = (scope.where, scope.visit_where, scope.keys)
    return frozenset(wanted.columns).union(*(names_in(each.text) for each in conditions))


def _views_scope(scope: Scope) -> Scope:
    """The page views that facts come from: those of the subject around the time range."""
    if scope.events is None:
        raise ValueError("a scope without a version of events has no facts of visits")
    time_range = scope.fact_range or scope.time_range
    around = TimeRange(
        time_range.start_ms - LOOK_AROUND_MS, time_range.end_ms + LOOK_AROUND_MS, time_range.zone
    )
    return structs.replace(
        scope,
        pinned=scope.events,
        subject_column=EVENTS.subject_column,
        time_range=around,
        where=Fragment(f"{PAGE_VIEW} AND session_hash IS NOT NULL"),
        visit_where=Fragment(),
        keys=scope.keys if scope.keys_are_visits else Fragment(),
    )


def _stored_columns(scope: Scope, names: Sequence[str]) -> list[Column]:
    """The columns of the table that are needed, in the table's order."""
    names_of_all = _all_names(WantedRelation(scope, names))
    own = {"session_hash", *(fact.column for fact in facts_named(names_of_all))}
    needed = {scope.subject_column, *REQUIRED_COLUMNS, *names_of_all}
    if facts_named(names_of_all):
        needed |= own
    return [column for column in scope.table.columns if column.name in needed]


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
