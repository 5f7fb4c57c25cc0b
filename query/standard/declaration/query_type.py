"""QueryType: name, row shape and SQL of a standard query.

    QueryType(
        name="errors_by_type",
        description="errors by type",
        subject=SubjectKind.WEBSITE,
        table=ERRORS,
        row=ErrorType,
        sql="SELECT error_type, COUNT(*) AS errors FROM scoped GROUP BY error_type ORDER BY ...",
    )

The SQL reads `scoped`: the rows of one subject and time range, with bots left out and filters
applied. It uses the columns that it needs simply by naming them. It selects exactly the columns of
the row shape in their order, as integers and text, and ends in a total ORDER BY over them; columns
that only the order needs come after those of the shape.
"""

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from msgspec import Struct, structs

from query.prepared.forms import RollupPlan
from query.request.subject import SubjectKind
from query.scope.profiles import PROFILES
from query.sql.select import Cte
from query.standard.declaration.fields import Date, field_specs
from query.standard.declaration.listing import Listing, PageKeyQuery
from query.standard.declaration.result_check import ResultCheck
from query.standard.declaration.statement import (
    Statement,
    StoredColumns,
    TimeRangeOverride,
    columns_used,
    other_tables,
    requested_range,
)
from schemas.registry import SavedRecords
from schemas.tables import Table


class QueryOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the options that a parameter may have beside its name."""

    @classmethod
    def example(cls) -> Self:
        """Options for the documentation and the tests."""
        return cls()

    def resolve(self, saved: SavedRecords, path: str) -> Self:  # noqa: ARG002 - see Goals
        """The options with saved goals and segments in place of their names."""
        return self


class QueryType(Struct, frozen=True, kw_only=True, eq=False):
    """One standard query, as its family declares it."""

    name: str
    description: str
    subject: SubjectKind
    table: Table
    row: type[Struct]
    sql: str | Statement | Callable[[Any], Statement]
    """SQL, or a statement, or a function that makes the statement from the options."""
    ctes: tuple[Cte, ...] = ()
    """Of SQL that is given as text."""
    aliases: tuple[str, ...] = ()
    default_limit: int = 100
    """Rows of a page when the request has no limit."""
    max_limit: int = 10_000
    """Rows of a page at most."""
    required_filters: tuple[str, ...] = ()
    """Columns that the request must filter on."""
    options: type[QueryOptions] | None = None
    """What a parameter may have beside its name."""
    listing: Listing = Listing()
    """Page keys and nested lists."""
    page_keys: Callable[[Any], PageKeyQuery | None] | None = None
    """Tells the page keys from the options, where the listing has none."""
    only_bots: bool = False
    """Whether it reads the rows of bots, whatever `include_bots` says; its SQL keeps no others."""
    is_live: bool = False
    """Whether it is about what happens now: workers store small batches sooner meanwhile."""
    checks: Sequence[ResultCheck] | Callable[[Any], Sequence[ResultCheck]] = ()
    """What warnings come from, or a function of the options."""
    prepared: RollupPlan | Callable[[Any], RollupPlan | None] | None = None
    """How its rows are made from rollups, or a function of the options; None
    when they cannot be."""
    stored_columns: StoredColumns | Callable[[Any], StoredColumns | None] | None = None
    """What completes the rows from rollups, or a function of the options."""

    @property
    def example(self) -> Any:
        """Example options; None when the type has no options."""
        return self.options.example() if self.options else None

    def statement(self, options: Any) -> Statement:
        """The statement for these options."""
        if isinstance(self.sql, str):
            return Statement(sql=self.sql, ctes=self.ctes)
        return self.sql if isinstance(self.sql, Statement) else self.sql(options)

    def rollup_plan(self, options: Any) -> RollupPlan | None:
        """How rows are made from rollups with these options."""
        return self.prepared(options) if callable(self.prepared) else self.prepared

    def page_key_query(self, options: Any) -> PageKeyQuery | None:
        """How the keys on a page are found with these options; None when all rows are computed."""
        return self.page_keys(options) if self.page_keys else self.listing.page_keys

    def columns_beside_parts(self, options: Any) -> StoredColumns | None:
        """What completes the rows from rollups with these options; None for nothing."""
        own = self.stored_columns
        return own(options) if callable(own) else own

    def result_checks(self, options: Any) -> Sequence[ResultCheck]:
        """What warnings of a result with these options come from."""
        return self.checks(options) if callable(self.checks) else self.checks

    @property
    def starts_with_time(self) -> bool:
        """Whether the first field of a row is a bucket of time."""
        return _starts_with_time(self)

    @property
    def sparse(self) -> bool:
        """Whether a bucket has a row for each text in it, and none where nothing happened."""
        return _sparse(self)

    @property
    def series(self) -> bool:
        """Whether the result is one row for every bucket, filled with zeros."""
        return self.starts_with_time and not self.sparse and not self.makes_buckets

    @property
    def makes_buckets(self) -> bool:
        """Whether Python makes the rows of its buckets, which have a width of its own."""
        statement = _example_statement(self)
        return statement.rows_in_python is not None and statement.granularity is not None

    @property
    def time_range_override(self) -> TimeRangeOverride:
        """Gives the time range that the type reads."""
        return _example_statement(self).time_range_override

    @property
    def is_comparable(self) -> bool:
        """Whether `compare` is for it: neither its time range nor its comparison is its own."""
        statement = _example_statement(self)
        return statement.range_values is None and (statement.time_range_override is requested_range)

    @property
    def tables(self) -> Sequence[Table]:
        """All tables that it reads, its own first."""
        return _tables(self)

    @property
    def reads_profiles(self) -> bool:
        """Whether the SQL names the profiles of visitors."""
        return PROFILES in _example_statement(self).names

    @property
    def columns(self) -> Sequence[str]:
        """The columns of `scoped` that the SQL names."""
        return columns_used(self.table, _example_statement(self).names)

    @property
    def sql_columns(self) -> Sequence[str]:
        """The columns that the SQL selects."""
        return [f"{name}{s}" for name, spec in field_specs(self.row).items() for s in spec.suffixes]


def index_by_name(*families: Iterable[QueryType]) -> Mapping[str, QueryType]:
    """Every query type by name and alias; ValueError when a name is declared twice."""
    by_name: dict[str, QueryType] = {}
    for family in families:
        for query_type in family:
            for name in (query_type.name, *query_type.aliases):
                if name in by_name:
                    raise ValueError(f"query type '{name}' is declared twice")
                by_name[name] = query_type
    return by_name


@lru_cache(maxsize=1024)
def _starts_with_time(query_type: QueryType) -> bool:
    first = structs.fields(query_type.row)[0]
    return bool(typing.get_type_hints(query_type.row, include_extras=True)[first.name] == Date)


@lru_cache(maxsize=1024)
def _sparse(query_type: QueryType) -> bool:
    return query_type.starts_with_time and structs.fields(query_type.row)[1].type is str


@lru_cache(maxsize=1024)
def _example_statement(query_type: QueryType) -> Statement:
    return query_type.statement(query_type.example)


@lru_cache(maxsize=1024)
def _tables(query_type: QueryType) -> Sequence[Table]:
    tables = [
        query_type.table,
        *other_tables(_example_statement(query_type).names),
        *(nested.table for nested in query_type.listing.nested_lists),
    ]
    return list({table.name: table for table in tables}.values())
