"""Result forms: a page of the rows of a body, their number, or the rows with certain keys."""

from msgspec import Struct
from sqlglot import exp

from query.sql.portable import Portable

RESULT = "result"
"""The CTE that holds the rows of the body."""


class Page(Struct, frozen=True):
    """The rows from $offset on, at most $limit; the last column is the number of all rows."""

    order: tuple[str, ...] = ()
    """Terms that come before the order of the body."""
    where: str = ""
    """A condition on the rows of the body."""

    def applied_to(self, body: exp.Select) -> exp.Select:
        own_order = _take_order(body)
        return (
            exp.select(f"{RESULT}.*", "COUNT(*) OVER () AS total_rows", dialect=Portable)
            .from_(RESULT)
            .where(self.where, dialect=Portable)
            .order_by(*self.order, *own_order, dialect=Portable)
            .limit("$limit", dialect=Portable)
            .offset("$offset", dialect=Portable)
            .with_(RESULT, as_=body, copy=False)
        )


class Count(Struct, frozen=True):
    """The number of the rows."""

    where: str = ""

    def applied_to(self, body: exp.Select) -> exp.Select:
        _take_order(body)
        return (
            exp.select("COUNT(*)", dialect=Portable)
            .from_(RESULT)
            .where(self.where, dialect=Portable)
            .with_(RESULT, as_=body, copy=False)
        )


class RowsOfKeys(Struct, frozen=True):
    """The rows whose key is in $keys or NULL, in the order of the body."""

    columns: tuple[str, ...]
    """Names for the columns of the body, in their order."""
    key: str
    """The one of them that holds the key."""

    def applied_to(self, body: exp.Select) -> exp.Select:
        order = exp.Order(expressions=_take_order(body))
        rank = exp.Window(this=exp.RowNumber(), order=order)
        ranked = exp.select(rank, f"{RESULT}.*").from_(RESULT)
        names = ", ".join(self.columns)
        return (
            exp.select(*self.columns)
            .from_("ranked_result")
            .where(f"IN_LONG_LIST({self.key}, $keys) OR {self.key} IS NULL", dialect=Portable)
            .order_by("result_rank")
            .with_(RESULT, as_=body, copy=False)
            .with_(f"ranked_result(result_rank, {names})", as_=ranked, copy=False)
        )


def _take_order(body: exp.Select) -> list[exp.Expression]:
    """The order terms of a body, which loses them."""
    order = body.args.get("order")
    body.set("order", None)
    return list(order.expressions) if order else []
