"""Listing: how long lists are paged by key first, and lists inside their rows filled."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from query.prepared.forms import RollupPlan
from query.prepared.listed_keys import KeyList, ScoreTerm
from query.sql.select import Cte
from query.standard.declaration.statement import Statement
from schemas.tables import Table


class NestedList(Struct, frozen=True, kw_only=True):
    """A list inside each row, filled by one further query for the rows of the page.

    The SQL selects the keys first, then the columns of an element, in the order of the list.
    """

    field: str
    """Field of the row shape that gets the list."""
    row: type[Struct] | None
    """Shape of an element; None when an element is a single value."""
    key: tuple[str, ...]
    """Fields of the row that equal the first columns of the SQL."""
    filter_column: str
    """Column of `scoped` that holds the values of the first key."""
    table: Table
    sql: str
    ctes: tuple[Cte, ...] = ()
    of_whole_visits: bool = False
    """Whether the list has all rows of visits, whichever rows the filters keep."""


class JoinedValue(Struct, frozen=True):
    """A value of the row that a relation has, which is joined with the keys."""

    sql: str
    join: str
    """The join with `page_key`."""
    ctes: tuple[Cte, ...] = ()
    """What the relation is computed by, where it is none of the statement's own."""


class PreparedKeys(Struct, frozen=True, kw_only=True, eq=False):
    """Finds the keys on a page from rollups: sessions or visitors by values of fields."""

    form: KeyList
    own_order: tuple[str, ...]
    """The fields that the rank is of, each descending."""
    counts: Mapping[str, Statement] = {}
    """Further fields: a statement of session hashes and numbers for each."""
    scores: Mapping[str, Sequence[ScoreTerm]] = {}
    """Fields that are computed from the others: the terms of their sum."""

    def can_order_by(self, fields: Iterable[str]) -> bool:
        """Whether it has the values of all these fields."""
        return {*self.form.fields, *self.counts, *self.scores}.issuperset(fields)


class PageKeyQuery(Struct, frozen=True, kw_only=True):
    """Finds the keys of the rows on a page, cheaper than computing all rows.

    `key`, `first`, `last`, `rank` and `orders` are SQL over the rows of `source`, which has one for
    each row of the result.
    """

    column: str
    """Column of `scoped` that holds the keys."""
    key: str
    first: str
    """The first instant (Unix milliseconds) of what the row is computed from."""
    last: str
    """The last instant."""
    rank: str
    """The number that the type orders by first, descending."""
    source: str
    """What follows the columns of the SELECT, from FROM on."""
    ctes: tuple[Cte, ...] = ()
    values: Mapping[str, object] = {}
    inlined: bool = False
    """As in a statement, like the values."""
    orders: Mapping[str, str] = {}
    """The values of fields that `orderBy` may name, as the type selects them."""
    joined_orders: Mapping[str, JoinedValue] = {}
    """The values of further such fields."""
    prepared: PreparedKeys | None = None
    """How the keys are found where there are rollups and no filters."""

    def can_order_by(self, fields: Iterable[str]) -> bool:
        """Whether it has the values of all these fields."""
        return all(field in self.orders or field in self.joined_orders for field in fields)

    def all_ctes(self, fields: Sequence[str] = ()) -> tuple[Cte, ...]:
        """The CTEs that the SELECT with these fields reads."""
        joined = (self.joined_orders[f].ctes for f in fields if f in self.joined_orders)
        return tuple(dict.fromkeys(chain(self.ctes, *joined)))

    def sql(self, fields: Sequence[str] = ()) -> str:
        """The SELECT of `page_key`, `first_ms`, `last_ms`, `sort_rank`, and `order_0`, ..."""
        terms = {f"order_{i}": field for i, field in enumerate(fields)}
        own = {name: self.orders[field] for name, field in terms.items() if field in self.orders}
        joined = {n: self.joined_orders[field] for n, field in terms.items() if n not in own}
        columns = {
            "page_key": self.key, "first_ms": self.first, "last_ms": self.last,
            "sort_rank": self.rank, **own,
        }  # fmt: skip
        keys = f"SELECT {_selected(columns)} {self.source}"
        if not joined:
            return keys
        values = _selected({name: value.sql for name, value in joined.items()})
        joins = " ".join(dict.fromkeys(value.join for value in joined.values()))
        return f"SELECT keys.*, {values} FROM ({keys}) AS keys {joins}"  # noqa: S608


def _selected(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


class NewestRows(Struct, frozen=True, kw_only=True, eq=False):
    """How many rows each quarter of an hour has, for a type whose rows are single events by time.

    Both give a row for each quarter that has some, in order: its number since 1970, and theirs.
    """

    form: RollupPlan
    counts: Statement
    """The same from stored rows."""


class Listing(Struct, frozen=True, kw_only=True):
    """What types with long lists or lists inside rows declare."""

    nested_lists: tuple[NestedList, ...] = ()
    page_keys: PageKeyQuery | None = None
    """When given, only the rows of the requested page are computed."""
    newest_rows: NewestRows | None = None
    """When given, a page in the own order, newest first, reads only the time of its rows."""
