"""Listing: how long lists are paged by key first, and lists inside their rows filled."""

from msgspec import Struct

from query.sql.select import Cte
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


class PageKeyQuery(Struct, frozen=True, kw_only=True):
    """Finds the keys of the rows on a page, cheaper than computing all rows.

    The SQL selects one row for each row of the result: `page_key`, its key; `first_ms` and
    `last_ms`, the first and last instant (Unix milliseconds) of what the row is computed from; and
    `sort_rank`, the number that the type orders by first, descending.
    """

    key: str
    """Column of `scoped` that holds the keys."""
    sql: str
    ctes: tuple[Cte, ...] = ()
    inlined: bool = False
    """As in a statement."""


class Listing(Struct, frozen=True, kw_only=True):
    """What types with long lists or lists inside rows declare."""

    nested_lists: tuple[NestedList, ...] = ()
    page_keys: PageKeyQuery | None = None
    """When given, only the rows of the requested page are computed."""
