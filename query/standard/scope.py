"""Scopes of a standard query: one in every table that it reads."""

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import structs

from query.engine.snapshots import PinnedVersion
from query.request.filters import Filter, FilterField, compile_each, fields_named
from query.request.property_path import is_trait
from query.request.query import Query
from query.scope.path_columns import path_fields
from query.scope.profiles import PROFILE_FIELD, profile_fields
from query.scope.scope import Scope
from query.scope.visitor_facts import VISITOR_FACT_FIELDS
from query.scope.visitor_sets import visitor_target
from query.scope.visits import row_source_fields, visit_fields, website_fields
from query.sql.fragment import all_of
from query.sql.message_pattern import MESSAGE_PATTERN, message_pattern
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from schemas.errors import Malformed
from schemas.registry import PathGroup
from schemas.tables import ERRORS, EVENTS, IDENTITIES, SESSIONS, ColumnType, Table

VISITOR_ID = "anonymous_id"
"""A required filter on it may be one on the profile instead."""


NAMING = frozenset({"eq", "in"})
"""Operators of a required filter: they name what is kept."""


@cache
def filterable_fields(table: Table) -> Mapping[str, FilterField]:
    """The columns of a table, and the facts of its visits, that filters may name."""
    columns = {c.name: FilterField(c.type, c.name) for c in table.columns if c.public}
    website = website_fields(table)
    pattern = {MESSAGE_PATTERN: FilterField(ColumnType.STRING, message_pattern("message"))}
    computed = pattern if table is ERRORS else {}
    visitor = {**profile_fields(), **VISITOR_FACT_FIELDS} if visitor_target(table) else {}
    of_visit = {**row_source_fields(table), **visit_fields(table)}
    return {**columns, **path_fields(table), **computed, **website, **of_visit, **visitor}


def scopes_of(
    query: Query,
    query_type: QueryType,
    statement: Statement,
    versions: Mapping[str, PinnedVersion],
) -> Mapping[str, Scope]:
    """The scopes of a query by table name, that of the type's own table first.

    Malformed when a filter is wrong or a required one is missing.
    """
    check_required_filters(query_type.required_filters, query.filters)
    main, *others = query_type.tables
    time_range = query_type.time_range_override(query.time_range, query.now_ms)
    scope = Scope(
        pinned=versions[main.name],
        subject_column=main.subject_column,
        subjects=query.subject.ids,
        hidden=query.subject.hidden,
        path_groups=query.subject.saved.of(PathGroup),
        time_range=statement.read_range(time_range),
        asked_range=time_range,
        granularity=query.granularity,
        include_bots=query.include_bots or query_type.only_bots,
        identities=versions.get(IDENTITIES.name),
        by_profile=query.by_profile or _is_of_one_profile(query_type, query),
        events=versions.get(EVENTS.name),
    )
    scope = _with_filters(scope, query.filters)
    other_scopes = {
        table.name: _scope_of_other_table(scope, versions[table.name], query) for table in others
    }
    return {main.name: scope, **other_scopes}


def _is_of_one_profile(query_type: QueryType, query: Query) -> bool:
    """Whether the query is about one visitor, named by profile: then its devices are one."""
    fields = {filter_.field for filter_ in query.filters}
    return VISITOR_ID in query_type.required_filters and PROFILE_FIELD in fields


def check_required_filters(required: Sequence[str], filters: Sequence[Filter]) -> None:
    """Malformed when a filter that the type requires is missing, or names none to keep."""
    filtered = {filter_.field for filter_ in filters}
    naming = {filter_.field for filter_ in filters if (filter_.operator or filter_.op) in NAMING}
    for name in required:
        if name in naming or (name == VISITOR_ID and PROFILE_FIELD in naming):
            continue
        if name in filtered:
            raise Malformed(f"The required filter on '{name}' must have the operator 'eq' or 'in'")
        person = f"; or the same on '{PROFILE_FIELD}', for all devices of a person"
        other = person if name == VISITOR_ID else ""
        raise Malformed(
            f"Missing required filter: '{name}'. "
            f"Add {{'field': '{name}', 'operator': 'eq', 'value': ...}} to 'filters'{other}"
        )


def _scope_of_other_table(scope: Scope, pinned: PinnedVersion, query: Query) -> Scope:
    """The same scope in another table, with the filters on columns that it has.

    Those of a shared dashboard are never left out: Malformed for one that the table cannot have.
    """
    filters, shared = query.filters, len(query.subject.shared_filters or ())
    table = pinned.version.table
    other = structs.replace(scope, pinned=pinned, subject_column=table.subject_column)
    known = filterable_fields(table).keys()
    kept = [{n for n in fields_named(filter_) if not is_trait(n)} <= known for filter_ in filters]
    kept[len(kept) - shared :] = [True] * shared
    return _with_filters(other, filters, kept)


def _with_filters(
    scope: Scope, filters: Sequence[Filter], known: Sequence[bool] | None = None
) -> Scope:
    """The scope with these filters: those on facts of the visit apart from those on rows.

    `known` says which of them are about the table.
    """
    fields, name = filterable_fields(scope.table), f"table '{scope.table.name}'"
    visitors = visitor_target(scope.table)
    compiled = compile_each(filters, fields, name, visitors=visitors, only=known)
    visit_names = visit_fields(scope.table).keys()
    of_visit = [fields_named(filter_) <= visit_names for filter_ in filters]
    visit_where = all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if visit))
    of_session = [visit and not visit_where.visitor_sets for visit in of_visit]
    session_fields = visit_fields(SESSIONS.table)
    return structs.replace(
        scope,
        session_where=all_of(*compile_each(filters, session_fields, name, only=of_session)),
        where=all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if not visit)),
        visit_where=visit_where,
    )
