"""The rows that a query may see: subject, time range, bots, filters (the `scoped` CTE).

`scoped` stands in front of the SQL of every query type. A query type cannot forget the tenant,
because it does not write that condition.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from query.engine.engine import Engine
from query.request.operators import BY_NAME
from query.request.time_range import TimeRange
from query.scope.fact_sources import fact_sources, visitor_sources
from query.scope.path_columns import (
    PATH,
    PATH_COLUMN_NAMES,
    PATH_COLUMNS,
    PATH_GROUP,
    path_group_of_row,
    with_path_group,
)
from query.scope.profiles import (
    IDENTITY_COLUMNS,
    IDENTITY_ROWS,
    PERSON_ID,
    PROFILE_COLUMN,
    PROFILE_JOIN,
    PROFILES,
    merged_devices,
    profile_ctes,
    reads_profiles,
)
from query.scope.row_scope import Scope as Scope
from query.scope.row_scope import WantedRelation as WantedRelation
from query.scope.row_scope import identity_scope, set_scope
from query.scope.visitor_facts import (
    FIRST_BUCKET,
    FIRST_SEEN,
    VISITOR_FACT_COLUMNS,
    VISITOR_JOIN,
    reads_visitor_facts,
)
from query.scope.visitor_sets import (
    VISITOR,
    all_time,
    distinct_sets,
    rows_name,
    visitor_set_cte,
)
from query.scope.visitor_times import (
    visitor_times_cte,
    visitor_times_values,
)
from query.scope.visits import (
    BY_COLUMN,
    VISIT_JOIN,
    VisitFact,
    around,
    facts_named,
    visit_facts_cte,
)
from query.sql.fragment import Fragment, all_of, merge_values
from query.sql.portable import names_in
from query.sql.select import Cte, Join, Relation
from schemas.tables import Column

SCOPED = "scoped"
IS_BOT = "is_bot"
REQUIRED_COLUMNS = ("ts", IS_BOT)
BUCKET = "bucket"
PROPERTY_ENTRIES = "entries"
MS = "ms"
EPOCH = "epoch"
PERSON_NAME = {"anonymous_id": f"COALESCE({PROFILES}.{PERSON_ID}, anonymous_id) AS anonymous_id"}
"""The column whose value is that of the person, where the devices of a profile are one."""


class ScopedRelations(Struct, frozen=True):
    """The CTEs of one or more scopes, in the order of their use, and their bound values."""

    relations: tuple[Relation | Cte, ...]
    values: Mapping[str, object]
    of_visits: tuple[Relation | Cte, ...] = ()
    """Those of `visit_facts`, where they come after the CTE whose visits they are of."""


async def scoped_relations(
    engine: Engine,
    wanted: Mapping[str, WantedRelation],
    facts_read: Sequence[VisitFact] = (),
    profiles_read: bool = False,
    visits_cte: str | None = None,
) -> ScopedRelations:
    """The CTEs by these names; facts of visits come before them where one is named.

    `facts_read` are facts that the statement itself takes from `visit_facts`; `profiles_read` is
    whether it names `visitor_profiles`; `visits_cte` is a CTE of the statement that has all visits
    whose facts it takes.
    Besides the columns of the table there are `ms` (Unix milliseconds of `ts`), `bucket` and the
    facts of the visit. The names of bound values begin with the name of the CTE, those of `scoped`
    excepted.
    """
    main = next(iter(wanted.values())).scope
    conditions = [all_of(_conditions(one.scope), one.scope.later) for one in wanted.values()]
    sets = distinct_sets(conditions)
    set_rows = {rows_name(each): WantedRelation(set_scope(main, each), [VISITOR]) for each in sets}
    set_ctes = {rows_name(each): visitor_set_cte(each) for each in sets}
    wanted = {**set_rows, **wanted}
    named = frozenset[str]().union(*(_all_names(w) for w in wanted.values()))
    of_rows = facts_named(named)
    facts = facts_named(named.union(fact.sql_column for fact in facts_read))
    of_facts = ScopedRelations((), {})
    relations: list[Relation | Cte] = []
    values: dict[str, object] = {}
    by_profile = main.by_profile or profiles_read
    if by_profile or reads_profiles(named):
        rows = await _relation(engine, IDENTITY_ROWS, identity_scope(main), IDENTITY_COLUMNS)
        relations += [rows.relation, *profile_ctes()]
        values |= rows.values
    if facts:
        ever = any(each.ever and facts_named(names_in(each.where.text)) for each in sets)
        own = main.fact_range or main.time_range
        time_range = around(all_time(own.zone) if ever else own)
        visits = None if of_rows else visits_cte
        of_facts = await _facts_relations(engine, main, facts, time_range, visits)
        relations += of_facts.relations
        values |= of_facts.values
    if reads_visitor_facts(named):
        sources = visitor_sources(engine, main, named)
        for name, source in sources.items():
            relation = await _relation(engine, name, source.scope, source.columns)
            relations.append(relation.relation)
            values |= relation.values
        relations.append(visitor_times_cte(sources))
        values |= visitor_times_values(main)
    for name, one in wanted.items():
        relation = await _relation(engine, name, one.scope, one.columns)
        relations.append(relation.relation)
        if name in set_ctes:
            relations.append(set_ctes[name])
        values = merge_values(values, relation.values)
    return ScopedRelations(tuple(relations), values, of_facts.of_visits)


async def scoped_rows(engine: Engine, scope: Scope, columns: Sequence[str]) -> ScopedRelations:
    """The CTE `scoped` with these columns."""
    return await scoped_relations(engine, {SCOPED: WantedRelation(scope, columns)})


class _BoundRelation(Struct, frozen=True):
    relation: Relation
    values: Mapping[str, object]


async def _relation(
    engine: Engine, name: str, scope: Scope, names: Sequence[str]
) -> _BoundRelation:
    where = with_path_group(all_of(_conditions(scope), scope.shown), scope.path_groups)
    stored = _stored_columns(scope, names)
    source = await engine.relation(scope.version, stored)
    text = source.text
    if scope.by_profile and VISITOR in (stored_names := [column.name for column in stored]):
        text = merged_devices(text, stored_names)
    buckets = {
        name: scope.time_range.bucket_sql(ms, scope.granularity)
        for name, ms in {BUCKET: "UNIX_MS(ts)", FIRST_BUCKET: FIRST_SEEN.sql}.items()
        if name in names
    }
    path_group = path_group_of_row(scope.path_groups) if PATH_GROUP in names else Fragment()
    expressions = {
        MS: f"UNIX_MS(ts) AS {MS}",
        **{n: f"{bucket.text} AS {n}" for n, bucket in buckets.items()},
        EPOCH: f"COALESCE({EPOCH}, 0) AS {EPOCH}",  # older rows have no epoch
        PROFILE_COLUMN: f"{PROFILES}.{PROFILE_COLUMN}",
        **(PERSON_NAME if scope.names_person else {}),
        **{n: f"{VISITOR_FACT_COLUMNS[n].sql} AS {n}" for n in names if n in VISITOR_FACT_COLUMNS},
        **{n: f"{BY_COLUMN[n].sql_in(scope.table)} AS {n}" for n in names if n in BY_COLUMN},
        **{column.name: f"{column.stored} AS {column.name}" for column in PATH_COLUMNS},
        PATH_GROUP: f"{path_group.text} AS {PATH_GROUP}",
    }
    conditions = [_of_subjects(scope), "ts >= $start", "ts < $end"]
    if not scope.include_bots and scope.table.column(IS_BOT):
        conditions.append(f"{IS_BOT} IS DISTINCT FROM TRUE")
    in_spans = _in_key_spans(scope)
    conditions += [each.text for each in (in_spans, where) if each.text]
    own = {
        "subject": scope.subjects[0] if len(scope.subjects) == 1 else list(scope.subjects),
        "start": _instant(scope.time_range.start_ms),
        "end": _instant(scope.time_range.end_ms),
    }
    of_buckets = {k: v for each in buckets.values() for k, v in each.values.items()}
    values = merge_values(
        source.values, own, in_spans.values, where.values, of_buckets, path_group.values
    )
    prefix = "" if name == SCOPED else name
    relation = Relation(
        name=name,
        source=text,
        columns=tuple(expressions.get(column, column) for column in names) or ("1 AS nothing",),
        conditions=tuple(conditions),
        prefix=prefix,
        joins=_joins(_all_names(WantedRelation(scope, names)), _names_person(scope, names)),
        has_few_rows=bool(scope.keys.text),
    )
    if prefix:
        values = {f"{prefix}_{key}": value for key, value in values.items()}
    return _BoundRelation(relation, values)


def _joins(names: frozenset[str], names_person: bool) -> tuple[Join, ...]:
    """The relations that facts of a row come from."""
    joins = {
        VISIT_JOIN: bool(facts_named(names)),
        VISITOR_JOIN: reads_visitor_facts(names),
        PROFILE_JOIN: names_person or reads_profiles(names),
    }
    return tuple(join for join, is_read in joins.items() if is_read)


def _names_person(scope: Scope, names: Sequence[str]) -> bool:
    """Whether one of these columns is the anonymous id of a person."""
    return scope.names_person and not PERSON_NAME.keys().isdisjoint(names)


def _of_subjects(scope: Scope) -> str:
    """The condition that a row is of the subject, or of one of several."""
    operator = BY_NAME["eq" if len(scope.subjects) == 1 else "in"]
    text = operator.sql_for(len(scope.subjects))
    return text.format(column=scope.subject_column, value="$subject")


def _all_names(wanted: WantedRelation) -> frozenset[str]:
    """The columns that a relation reads, in its rows and in its conditions."""
    scope = wanted.scope
    conditions = (scope.where, scope.visit_where, scope.keys, scope.shown)
    names = frozenset(wanted.columns).union(*(names_in(each.text) for each in conditions))
    return names if names.isdisjoint(PATH_COLUMN_NAMES) else names | {PATH}


def _conditions(scope: Scope) -> Fragment:
    return all_of(scope.where, scope.visit_where, scope.keys)


async def _facts_relations(
    engine: Engine,
    scope: Scope,
    facts: Sequence[VisitFact],
    time_range: TimeRange,
    visits_cte: str | None,
) -> ScopedRelations:
    """The CTE `visit_facts` after those that it reads, of all visits or of those of a CTE."""
    relations: list[Relation | Cte] = []
    values: dict[str, object] = {}
    only = f"session_hash IN (SELECT session_hash FROM {visits_cte})" if visits_cte else ""  # noqa: S608
    sources = fact_sources(engine, scope, facts, time_range, Fragment(only))
    for name, source in sources.items():
        relation = await _relation(engine, name, source.scope, source.columns)
        relations.append(relation.relation)
        values |= relation.values
    made = (*relations, visit_facts_cte(facts, sources))
    return ScopedRelations((), values, made) if visits_cte else ScopedRelations(made, values)


def _stored_columns(scope: Scope, names: Sequence[str]) -> list[Column]:
    """The columns of the table that are needed, in the table's order."""
    names_of_all = _all_names(WantedRelation(scope, names))
    own = {"session_hash", *(fact.column for fact in facts_named(names_of_all))}
    needed = {scope.subject_column, *REQUIRED_COLUMNS, *names_of_all}
    if facts_named(names_of_all):
        needed |= own
    reads_visitors = reads_profiles(names_of_all) or reads_visitor_facts(names_of_all)
    if reads_visitors or _names_person(scope, names):
        needed.add(VISITOR)
    return [column for column in scope.table.columns if column.name in needed]


def _in_key_spans(scope: Scope) -> Fragment:
    """The condition that a row is from the time of the keys."""
    if scope.key_spans is None:
        return Fragment()
    own = scope.time_range
    text, values = scope.key_spans.condition(own.start_ms, own.end_ms)
    return Fragment(text, {name: _instant(ms) for name, ms in values.items()})


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
