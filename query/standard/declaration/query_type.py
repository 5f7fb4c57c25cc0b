"""QueryType: a standard question as a value: its name, row shape and SQL over `scoped`.

The SQL names the columns of `scoped` that it needs simply by using them. It gives exactly the
columns of its row shape in their order, whole numbers and text, and ends in a total ORDER BY over
them; columns that only the order needs come after those of the shape.

Besides `scoped` there are, for SQL that names them: `held` (as `scoped`, without the filters),
`entries` (a row for each property of an event) and `scoped_<table>` for each table of `beside`.
"""

import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.request.time_range import Granularity, TimeRange
from query.scope.scope import BUCKET, MS, PROPERTY_ENTRIES, Scope
from query.standard.declaration.fields import PLAIN_FIELD, Date, FieldSpec
from schemas.tables import Table

ENTRY_COLUMNS = ("name", "outbound_domain")
"""What `entries` say of the event that has the property."""


class Cte(Struct, frozen=True):
    """A named relation between `scoped` and the answer."""

    name: str
    sql: str


class Statement(Struct, frozen=True, kw_only=True):
    """SQL over `scoped` and its values; `granularity` when the bucket's width is not the asked."""

    sql: str
    ctes: tuple[Cte, ...] = ()
    values: Mapping[str, object] = {}
    granularity: Granularity | None = None
    not_materialized: bool = False
    """Whether `scoped` is read again where it is named again: its rows would fill the memory."""

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join([*(cte.sql for cte in self.ctes), self.sql])

    @property
    def identifiers(self) -> frozenset[str]:
        """The names that it uses."""
        return frozenset(re.findall(r"\w+", self.text))


class NestedList(Struct, frozen=True, kw_only=True):
    """The lists inside the rows of an answer, asked for once the rows are known.

    The SQL gives the keys first, then the columns of an element, in the order of the list.
    """

    field: str
    """Of the row shape, filled with a list of elements."""
    row: type[Struct] | None
    """Of an element; None when it is the one value itself."""
    key: tuple[str, ...]
    """Fields of the answer's rows, to which the first columns of the SQL are equal."""
    filter_column: str
    """Column of `scoped` that is one of the values of the first key."""
    table: Table
    sql: str
    ctes: tuple[Cte, ...] = ()


class PageKeyQuery(Struct, frozen=True, kw_only=True):
    """How the rows on a page are found by less than they say.

    The SQL gives a row for each row of the answer: `chosen`, its key; `began` and `ended`, between
    which (Unix milliseconds) all is that the row is made of; and `standing`, a number by which the
    type's order begins, the highest first.
    """

    key: str
    """Column of `scoped` that is one of the keys."""
    sql: str
    ctes: tuple[Cte, ...] = ()
    not_materialized: bool = False


class FinishContext(Struct, frozen=True):
    """What the last step in Python may know."""

    scope: Scope
    options: Any
    now_ms: int


TimeRangeOverride = Callable[[TimeRange, int], TimeRange]
Finish = Callable[[Sequence[Row], FinishContext], Sequence[Row]]


def requested_range(span: TimeRange, now_ms: int) -> TimeRange:  # noqa: ARG001
    """The span of the request."""
    return span


class QueryType(Struct, frozen=True, kw_only=True):
    """One standard question."""

    name: str
    description: str
    subject: SubjectKind
    table: Table
    row: type[Struct]
    sql: str = ""
    ctes: tuple[Cte, ...] = ()
    default_limit: int = 100
    """Rows when the request does not say."""
    max_limit: int = 10_000
    """Rows at most, whatever the request says."""
    aliases: tuple[str, ...] = ()
    extra_tables: tuple[Table, ...] = ()
    """Further tables; a filter on a column that one does not have leaves that one alone."""
    nested_lists: tuple[NestedList, ...] = ()
    page_keys: PageKeyQuery | None = None
    """Where there is one, rows are made for those on the page alone."""
    not_materialized: bool = False
    """As in a statement."""
    required_filters: tuple[str, ...] = ()
    """Columns that a filter must name."""
    time_range_override: TimeRangeOverride = requested_range
    """The span that is looked at; some types have one of their own."""
    sparse: bool = False
    """Whether a series has several rows per point, and none for a point where nothing happened."""
    options: type[Struct] | None = None
    """What a parameter may say beside its name."""
    example: Any = None
    """Options as they may be given; for documentation and tests."""
    plan: Callable[[Any], Statement] | None = None
    """Makes the statement from the options, when there are any."""
    finish: Finish | None = None
    """Makes rows from the rows of SQL, all of them; paged after that."""

    @property
    def starts_with_time(self) -> bool:
        """Whether a row begins with a point in time."""
        first = structs.fields(self.row)[0]
        return bool(typing.get_type_hints(self.row, include_extras=True)[first.name] == Date)

    @property
    def series(self) -> bool:
        """Whether a row is a point in time, so that the answer is zero-filled."""
        return self.starts_with_time and not self.sparse and self.finish is None

    @property
    def tables(self) -> Sequence[Table]:
        """All tables that it reads."""
        return list({t.name: t for t in (self.table, *self.extra_tables, *_tables(self))}.values())

    @property
    def columns(self) -> Sequence[str]:
        """The columns of `scoped` that the SQL names."""
        return columns_used(self.table, self.statement(self.example).identifiers)

    def statement(self, options: Any) -> Statement:
        """The SQL for these options."""
        if self.plan is not None:
            return self.plan(options)
        return Statement(sql=self.sql, ctes=self.ctes, not_materialized=self.not_materialized)

    @property
    def sql_columns(self) -> Sequence[str]:
        """The columns that the SQL gives."""
        return [f"{name}{s}" for name, form in field_specs(self.row).items() for s in form.suffixes]


def columns_used(table: Table, words: frozenset[str]) -> list[str]:
    """The columns that `scoped` needs for SQL of these words."""
    more = {"properties", *ENTRY_COLUMNS} if PROPERTY_ENTRIES in words else set()
    known = (*(c.name for c in table.columns), MS, BUCKET)
    return [name for name in known if name in words or name in more]


def _tables(query_type: QueryType) -> list[Table]:
    return [detail.table for detail in query_type.nested_lists]


@lru_cache(maxsize=1024)
def field_specs(row: type[Struct]) -> Mapping[str, FieldSpec]:
    """Each field of a row shape with the way it is made."""
    hints = typing.get_type_hints(row, include_extras=True)
    return {field.name: _form(hints[field.name]) for field in structs.fields(row)}


def describe_row(row: type[Struct]) -> Mapping[str, str]:
    """Each field of a row shape, as callers see it, with what it is in words."""
    plain = {int: "integer", str: "string", bool: "boolean", float: "number"}
    hints = typing.get_type_hints(row)
    made = field_specs(row)
    return {
        field.encode_name: made[field.name].unit or plain[hints[field.name]]
        for field in structs.fields(row)
    }


def to_row(row: type[Struct], values: Row, shape: Mapping[str, FieldSpec]) -> Struct:
    """One row of the answer from one row of SQL."""
    fields: list[Any] = []
    at = 0
    for form in shape.values():
        fields.append(form.to_value(*values[at : at + len(form.suffixes)]))
        at += len(form.suffixes)
    return row(*fields)


def index_by_name(*families: Iterable[QueryType]) -> Mapping[str, QueryType]:
    """Every query type by name and alias; a name declared twice stops the program."""
    found: dict[str, QueryType] = {}
    for family in families:
        for query_type in family:
            for name in (query_type.name, *query_type.aliases):
                if name in found:
                    raise ValueError(f"query type '{name}' is declared twice")
                found[name] = query_type
    return found


def _form(hint: object) -> FieldSpec:
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, FieldSpec)), PLAIN_FIELD)
