"""What one standard question may see: its scope, in every table that it reads."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from query.engine.snapshots import Pinned
from query.request.filters import Field, Filter, conditions
from query.scope.scope import Scope
from query.standard.declaration.query_type import QueryType
from query.standard.request import Asked, Questions
from schemas.errors import Malformed
from schemas.tables import Table


def fields(table: Table) -> Mapping[str, Field]:
    """The columns of a table that filters may name."""
    return {c.name: Field(c.type, c.name) for c in table.columns if c.public}


def scope_of(
    query_type: QueryType,
    subject: str,
    asked: Questions,
    one: Asked,
    pins: Mapping[str, Pinned],
    now_ms: int,
) -> Scope:
    """The scope of one question; Malformed when its filters are wrong or one is missing."""
    require(query_type.needs, asked.filters)
    main, *others = query_type.tables
    scope = Scope(
        pinned=pins[main.name],
        subject_column=main.subject,
        subject=subject,
        span=query_type.over(one.span, now_ms),
        granularity=one.granularity,
        where=conditions(asked.filters, fields(main), f"table '{main.name}'"),
        include_bots=asked.include_bots,
    )
    return structs.replace(
        scope, beside=tuple(_beside(scope, pins[t.name], asked.filters) for t in others)
    )


def require(needs: Sequence[str], filters: Sequence[Filter]) -> None:
    """Malformed when a filter that the type needs is missing."""
    given = {filter_.field for filter_ in filters}
    for name in needs:
        if name not in given:
            raise Malformed(
                f"Missing required filter: '{name}'. "
                f"Add {{'field': '{name}', 'operator': 'eq', 'value': ...}} to 'filters'"
            )


def _beside(scope: Scope, pinned: Pinned, filters: Sequence[Filter]) -> Scope:
    """The same in another table, with the filters on columns that it has."""
    table = pinned.version.table
    known = fields(table)
    fitting = [each for each in filters if _names(each) <= known.keys()]
    where = conditions(fitting, known, f"table '{table.name}'")
    return structs.replace(scope, pinned=pinned, subject_column=table.subject, where=where)


def _names(given: Filter) -> set[str]:
    """The columns that a filter is about."""
    if not given.groups:
        return {given.field or ""}
    return set().union(*(_names(part) for _, parts in given.groups for part in parts))
