"""Scopes of a standard query: one in every table that it reads."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from query.engine.snapshots import PinnedVersion
from query.request.filters import Filter, FilterField, compile_conditions
from query.request.query import Query
from query.scope.scope import Scope
from query.standard.declaration.query_type import QueryType
from schemas.errors import Malformed
from schemas.tables import Table


def filterable_fields(table: Table) -> Mapping[str, FilterField]:
    """The columns of a table that filters may name."""
    return {c.name: FilterField(c.type, c.name) for c in table.columns if c.public}


def scopes_of(
    query: Query, query_type: QueryType, versions: Mapping[str, PinnedVersion]
) -> Mapping[str, Scope]:
    """The scopes of a query by table name, that of the type's own table first.

    Malformed when a filter is wrong or a required one is missing.
    """
    check_required_filters(query_type.required_filters, query.filters)
    main, *others = query_type.tables
    fields = filterable_fields(main)
    scope = Scope(
        pinned=versions[main.name],
        subject_column=main.subject_column,
        subject=query.subject.id,
        time_range=query_type.time_range_override(query.time_range, query.now_ms),
        granularity=query.granularity,
        where=compile_conditions(query.filters, fields, f"table '{main.name}'"),
        include_bots=query.include_bots,
    )
    other_scopes = {
        table.name: _scope_of_other_table(scope, versions[table.name], query.filters)
        for table in others
    }
    return {main.name: scope, **other_scopes}


def check_required_filters(required: Sequence[str], filters: Sequence[Filter]) -> None:
    """Malformed when a filter that the type requires is missing."""
    filtered = {filter_.field for filter_ in filters}
    for name in required:
        if name not in filtered:
            raise Malformed(
                f"Missing required filter: '{name}'. "
                f"Add {{'field': '{name}', 'operator': 'eq', 'value': ...}} to 'filters'"
            )


def _scope_of_other_table(scope: Scope, pinned: PinnedVersion, filters: Sequence[Filter]) -> Scope:
    """The same scope in another table, with the filters on columns that it has."""
    table = pinned.version.table
    fields = filterable_fields(table)
    applicable = [filter_ for filter_ in filters if _columns(filter_) <= fields.keys()]
    where = compile_conditions(applicable, fields, f"table '{table.name}'")
    return structs.replace(scope, pinned=pinned, subject_column=table.subject_column, where=where)


def _columns(filter_: Filter) -> set[str]:
    """The columns that a filter names."""
    if not filter_.groups:
        return {filter_.field or ""}
    return set().union(*(_columns(part) for _, parts in filter_.groups for part in parts))
