"""What one standard question may see: its scope, in every table that it reads."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from query.engine.snapshots import PinnedVersion
from query.request.filters import Filter, FilterField, compile_conditions
from query.scope.scope import Scope
from query.standard.declaration.query_type import QueryType
from query.standard.request import StandardQuery, StandardRequest
from schemas.errors import Malformed
from schemas.tables import Table


def filterable_fields(table: Table) -> Mapping[str, FilterField]:
    """The columns of a table that filters may name."""
    return {c.name: FilterField(c.type, c.name) for c in table.columns if c.public}


def build_scope(
    query_type: QueryType,
    subject: str,
    asked: StandardRequest,
    one: StandardQuery,
    pins: Mapping[str, PinnedVersion],
    now_ms: int,
) -> Scope:
    """The scope of one question; Malformed when its filters are wrong or one is missing."""
    check_required_filters(query_type.required_filters, asked.filters)
    main, *others = query_type.tables
    scope = Scope(
        pinned=pins[main.name],
        subject_column=main.subject_column,
        subject=subject,
        span=query_type.time_range_override(one.time_range, now_ms),
        granularity=one.granularity,
        where=compile_conditions(asked.filters, filterable_fields(main), f"table '{main.name}'"),
        include_bots=asked.include_bots,
    )
    return structs.replace(
        scope,
        other_tables=tuple(
            _scope_of_other_table(scope, pins[t.name], asked.filters) for t in others
        ),
    )


def check_required_filters(needs: Sequence[str], filters: Sequence[Filter]) -> None:
    """Malformed when a filter that the type needs is missing."""
    given = {filter_.field for filter_ in filters}
    for name in needs:
        if name not in given:
            raise Malformed(
                f"Missing required filter: '{name}'. "
                f"Add {{'field': '{name}', 'operator': 'eq', 'value': ...}} to 'filters'"
            )


def _scope_of_other_table(scope: Scope, pinned: PinnedVersion, filters: Sequence[Filter]) -> Scope:
    """The same in another table, with the filters on columns that it has."""
    table = pinned.version.table
    known = filterable_fields(table)
    fitting = [each for each in filters if _names(each) <= known.keys()]
    where = compile_conditions(fitting, known, f"table '{table.name}'")
    return structs.replace(scope, pinned=pinned, subject_column=table.subject_column, where=where)


def _names(given: Filter) -> set[str]:
    """The columns that a filter is about."""
    if not given.groups:
        return {given.field or ""}
    return set().union(*(_names(part) for _, parts in given.groups for part in parts))
