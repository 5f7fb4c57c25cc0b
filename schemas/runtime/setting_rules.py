"""What values a setting takes, in words, from its type and bounds."""

import typing
from functools import lru_cache

from msgspec import inspect

from schemas.runtime.settings import Settings

Number = inspect.IntType | inspect.FloatType
BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


@lru_cache(maxsize=1)
def _types() -> dict[str, inspect.Type]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    return {name: inspect.type_info(hint) for name, hint in hints.items()}


def rule_of(name: str) -> str:
    """The rule of a setting, to follow its name: `must be a whole number, at least 1`."""
    kind = _types()[name]
    examples: list[str] = []
    if isinstance(kind, inspect.Metadata):
        examples = list((kind.extra_json_schema or {}).get("examples", ()))
        kind = kind.type
    if isinstance(kind, inspect.BoolType):
        return "must be 1 or 0 (true or false)"
    if isinstance(kind, inspect.LiteralType):
        return f"must be one of: {', '.join(map(str, kind.values))}"
    if isinstance(kind, Number):
        whole = "whole " if isinstance(kind, inspect.IntType) else ""
        return f"must be a {whole}number{_bounds(kind)}"
    return f"must be like {' or '.join(examples)}" if examples else "must not be empty"


def _bounds(kind: Number) -> str:
    bounds = {word: getattr(kind, name) for name, word in BOUNDS.items()}
    return "".join(f", {word} {bound:g}" for word, bound in bounds.items() if bound is not None)
