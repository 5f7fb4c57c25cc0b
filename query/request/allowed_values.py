"""Allowed values of a member, read from the shape of the body, for the error that names them."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from msgspec import inspect

from query.request.suggestions import shorten

STEP = re.compile(r"\.(\w+)|\[(?:\d+|\.\.\.)\]")
MAX_VALUES = 30


def advice(shape: Any, json_path: str, value: str) -> str:
    """`; did you mean 'last_touch'? allowed are …`, or nothing where the values are not known.

    `json_path` is that of msgspec: `.parameters[0].model`.
    """
    kinds: list[inspect.Type] = [inspect.type_info(shape)]
    for step in STEP.finditer(json_path):
        kinds = [inner for kind in kinds for inner in _inside(kind, step[1])]
    values = list(dict.fromkeys(v for kind in kinds for v in _values(kind)))
    if not values or len(values) > MAX_VALUES:
        return ""
    word = value[:100].lower()
    close = get_close_matches(word, values, n=1) or [
        each for each in values if word and word in each
    ]
    meant = f"; did you mean '{shorten(close[0])}'?" if close else ";"
    return f"{meant} allowed are {', '.join(values)}"


def _inside(kind: inspect.Type, member: str | None) -> Iterator[inspect.Type]:
    """The types of a member of an object, or of the elements of a list."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _inside(each, member)
    elif isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields if field.encode_name == member)
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type
    elif isinstance(kind, inspect.CollectionType | inspect.VarTupleType):
        yield kind.item_type
    elif isinstance(kind, inspect.Metadata):
        yield from _inside(kind.type, member)


def _values(kind: inspect.Type) -> Iterator[str]:
    """The texts that a type allows, when it lists them."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _values(each)
    elif isinstance(kind, inspect.LiteralType):
        yield from (value for value in kind.values if isinstance(value, str))
    elif isinstance(kind, inspect.EnumType):
        yield from (str(each.value) for each in kind.cls)
    elif isinstance(kind, inspect.Metadata):
        yield from _values(kind.type)
