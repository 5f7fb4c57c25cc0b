"""QueryType: a standard question as a value: its name, row shape and SQL over `scoped`.

The SQL names the columns of `scoped` that it needs simply by using them. It gives exactly the
columns of its row shape in their order, whole numbers and text, and ends in a total ORDER BY.
"""

import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from query.engine import Row
from query.scoped import BUCKET, MS
from query.standard.forms import PLAIN, Date, Form
from schemas.tables import Table


class Subject(StrEnum):
    """Whom a question is about; the value is the parameter that names it."""

    LINK = "link_id"
    WEBSITE = "website_id"


class Cte(Struct, frozen=True):
    """A named relation between `scoped` and the answer."""

    name: str
    sql: str


class QueryType(Struct, frozen=True, kw_only=True):
    """One standard question."""

    name: str
    meaning: str
    subject: Subject
    table: Table
    row: type[Struct]
    sql: str
    given: tuple[Cte, ...] = ()
    limit: int = 100
    """Rows when the request does not say."""
    aliases: tuple[str, ...] = ()

    @property
    def series(self) -> bool:
        """Whether a row is a point in time, so that the answer is zero-filled."""
        first = structs.fields(self.row)[0]
        return bool(typing.get_type_hints(self.row, include_extras=True)[first.name] == Date)

    @property
    def columns(self) -> Sequence[str]:
        """The columns of `scoped` that the SQL names."""
        text = " ".join([self.sql, *(cte.sql for cte in self.given)])
        words = set(re.findall(r"\w+", text))
        return [n for n in (*(c.name for c in self.table.columns), MS, BUCKET) if n in words]

    @property
    def selected(self) -> Sequence[str]:
        """The columns that the SQL gives."""
        return [f"{name}{s}" for name, form in forms(self.row).items() for s in form.suffixes]


@lru_cache(maxsize=1024)
def forms(row: type[Struct]) -> Mapping[str, Form]:
    """Each field of a row shape with the way it is made."""
    hints = typing.get_type_hints(row, include_extras=True)
    return {field.name: _form(hints[field.name]) for field in structs.fields(row)}


def described(row: type[Struct]) -> Mapping[str, str]:
    """Each field of a row shape with what it is, in words."""
    plain = {int: "integer", str: "string"}
    hints = typing.get_type_hints(row)
    return {name: form.unit or plain[hints[name]] for name, form in forms(row).items()}


def shaped(row: type[Struct], values: Row, shape: Mapping[str, Form]) -> Struct:
    """One row of the answer from one row of SQL."""
    fields: list[Any] = []
    at = 0
    for form in shape.values():
        fields.append(form.make(*values[at : at + len(form.suffixes)]))
        at += len(form.suffixes)
    return row(*fields)


def index(*families: Iterable[QueryType]) -> Mapping[str, QueryType]:
    """Every query type by name and alias; a name declared twice stops the program."""
    found: dict[str, QueryType] = {}
    for family in families:
        for query_type in family:
            for name in (query_type.name, *query_type.aliases):
                if name in found:
                    raise ValueError(f"query type '{name}' is declared twice")
                found[name] = query_type
    return found


def _form(hint: object) -> Form:
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, Form)), PLAIN)
