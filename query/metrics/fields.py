"""FIELDS: what metrics queries may name in filters and as dimensions, of rows and of visits.

A plain source name (`channel`, `utm_source`, ...) is the fact of the visit; the value that a row
itself has is `event.<name>`.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from query.request.filters import Filter, FilterField, compile_each, fields_named
from query.scope.visits import FACTS, SOURCE_FACTS
from query.sql.fragment import Fragment, all_of
from schemas.tables import EVENTS, ColumnType

ROW_PREFIX = "event."
PLACE = "a metrics query"
"""Where a field is unknown, in error texts."""

EARLIER = "earlier_rows"
"""The relation with all rows before the time range, whatever the filters."""
IS_NEW = f"""
    CASE WHEN visitor_hash IS NOT NULL
         THEN visitor_hash NOT IN (
                  SELECT visitor_hash FROM {EARLIER} WHERE visitor_hash IS NOT NULL
              )
    END
"""  # noqa: S608


class Field(Struct, frozen=True):
    """One field: its type, its expression over `scoped`, and what it means."""

    name: str
    type: ColumnType
    column: str
    description: str
    condition_sql: str
    """Its expression over a stored row, in conditions of `scoped` itself."""
    of_visit: bool = False


class RowConditions(Struct, frozen=True):
    """Filters as conditions: on the rows, and on the visits alone."""

    where: Fragment
    visit_where: Fragment


def _fields() -> Iterator[Field]:
    sources = {fact.name for fact in SOURCE_FACTS}
    for c in EVENTS.columns:
        if c.public:
            name = ROW_PREFIX + c.name if c.name in sources else c.name
            yield Field(name, c.type, c.name, c.description, c.name)
    yield Field(
        "visitor.is_new",
        ColumnType.BOOLEAN,
        IS_NEW,
        "whether the visitor has no row before the time range",
        IS_NEW,
    )
    for fact in FACTS:
        names = {fact.field: fact.description}
        if fact.name in sources:
            names[fact.name] = f"the same as {fact.field}"
        for name, meaning in names.items():
            yield Field(
                name,
                ColumnType.STRING,
                fact.sql_column,
                meaning,
                fact.sql_in(EVENTS),
                of_visit=True,
            )


FIELDS: Mapping[str, Field] = {field.name: field for field in _fields()}

FILTER_FIELDS: Mapping[str, FilterField] = {
    field.name: FilterField(field.type, field.condition_sql) for field in FIELDS.values()
}
VISIT_FIELDS = frozenset(field.name for field in FIELDS.values() if field.of_visit)


def compile_filters(filters: Sequence[Filter]) -> RowConditions:
    """The filters as conditions; one that names facts of visits only is on the visits."""
    compiled = compile_each(filters, FILTER_FIELDS, PLACE)
    of_visit = [fields_named(filter_) <= VISIT_FIELDS for filter_ in filters]
    return RowConditions(
        where=all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if not visit)),
        visit_where=all_of(*(c for c, visit in zip(compiled, of_visit, strict=True) if visit)),
    )
