"""Select: one SELECT as a description that can be compared, and its text in an engine's dialect.

The text is made from a syntax tree, once per description: a query of the same shape, with other
values, finds it in a cache of bounded size.
"""

from collections import Counter
from functools import lru_cache
from typing import Protocol

from msgspec import Struct
from sqlglot import Dialect, exp, parse_one

from query.sql.portable import Portable, parse

MAX_CACHED_SELECTS = 512
MAX_CACHED_LENGTH = 20_000
"""Characters of a statement that is cached: longer ones are rare, and few of them fill memory."""


class Cte(Struct, frozen=True):
    """A common table expression in portable SQL; the name may be followed by its columns."""

    name: str
    sql: str


class NativeCte(Struct, frozen=True):
    """A common table expression in the dialect of the engine."""

    name: str
    sql: str


class Join(Struct, frozen=True):
    """A left join of stored rows, which are called `stored`, with an earlier relation."""

    relation: str
    on: str


class Relation(Struct, frozen=True):
    """A common table expression that selects stored rows."""

    name: str
    source: str
    """What stands after FROM, in the dialect of the engine."""
    columns: tuple[str, ...]
    """Expressions in portable SQL."""
    conditions: tuple[str, ...]
    """Conditions in portable SQL."""
    prefix: str = ""
    """Before the name of each bound value, so that several relations fit into one statement."""
    joins: tuple[Join, ...] = ()
    has_few_rows: bool = False
    """Whether its rows are those of a few keys, so that they fit into memory."""


class ResultForm(Protocol):
    """What is made of the rows of a body: a page, their number, ..."""

    def applied_to(self, body: exp.Select) -> exp.Select:
        """The statement around the body; the body is its own to change."""


class Select(Struct, frozen=True, kw_only=True):
    """One SELECT: relations over stored rows, further CTEs, and the body that reads them."""

    relations: tuple[Relation | NativeCte | Cte, ...]
    body: str
    ctes: tuple[Cte, ...] = ()
    form: ResultForm | None = None
    """None when the rows of the body are the result, in the order of the body."""
    inlined: bool = False
    """Whether relations are computed where they are read: materialized, they would fill memory."""


def render(select: Select, dialect: type[Dialect]) -> str:
    """The statement as text of an engine."""
    length = len(select.body) + sum(len(cte.sql) for cte in select.ctes)
    make = _cached_text if length <= MAX_CACHED_LENGTH else _text
    return make(select, dialect)


def render_form(form: ResultForm, relation: str, dialect: type[Dialect]) -> str:
    """A form of all rows of a relation as text of an engine."""
    body = exp.select(f"{relation}.*").from_(relation)
    return form.applied_to(body).sql(dialect=dialect, pretty=True, copy=False)


def _text(select: Select, dialect: type[Dialect]) -> str:
    return select_tree(select, dialect).sql(dialect=dialect, pretty=True, copy=False)


_cached_text = lru_cache(MAX_CACHED_SELECTS)(_text)


def select_tree(select: Select, dialect: type[Dialect]) -> exp.Select:
    """The syntax tree of the statement."""
    body = parse(select.body).copy()
    if not isinstance(body, exp.Select):
        raise TypeError(f"the body of a statement is a SELECT, not {body.key}")
    statement = select.form.applied_to(body) if select.form else body
    own_ctes = statement.args.pop("with_", None)
    for relation in select.relations:
        statement.with_(relation.name, as_=_relation_tree(relation, dialect), copy=False)
    for cte in select.ctes:
        statement.with_(cte.name, as_=parse(cte.sql).copy(), dialect=Portable, copy=False)
    for cte in own_ctes.expressions if own_ctes else ():
        statement.with_(cte.args["alias"], as_=cte.this, copy=False)
    _set_materialized(statement, select)
    return statement


def _set_materialized(statement: exp.Select, select: Select) -> None:
    """Read few rows once, and join once what is read several times.

    Without a join, reading many rows again is faster.
    """
    reads = Counter(table.name for table in statement.find_all(exp.Table))
    by_name = {cte.alias: cte for cte in statement.ctes}
    for relation in select.relations:
        is_join = isinstance(relation, Relation) and bool(relation.joins)
        if select.inlined:
            by_name[relation.name].set("materialized", value=False)
        elif _has_few_rows(relation) or (is_join and reads[relation.name] > 1):
            by_name[relation.name].set("materialized", value=True)


def _has_few_rows(relation: Relation | NativeCte | Cte) -> bool:
    return isinstance(relation, Relation) and relation.has_few_rows


def _relation_tree(relation: Relation | NativeCte | Cte, dialect: type[Dialect]) -> exp.Expr:
    if isinstance(relation, NativeCte):
        return parse_one(relation.sql, dialect=dialect)
    if isinstance(relation, Cte):
        return parse(relation.sql).copy()
    tree = (
        exp.select(*(parse(column).copy() for column in relation.columns))
        .from_(f"{relation.source} AS stored", dialect=dialect, copy=False)
        .where(*(parse(condition).copy() for condition in relation.conditions), copy=False)
    )
    for join in relation.joins:
        tree.join(join.relation, on=join.on, join_type="left", dialect=Portable, copy=False)
    if relation.prefix:
        for placeholder in tree.find_all(exp.Placeholder):
            placeholder.set("this", f"{relation.prefix}_{placeholder.name}")
    return tree
