"""What was wrong with an item, in the sender's words: the field, and the rule that it broke."""

import re
from collections.abc import Mapping
from functools import cache

from msgspec import inspect

from ingest.decoding.field_aliases import NO_RENAMES, SentNames
from ingest.decoding.limits import MAX_DEPTH
from schemas.http.validation_messages import rule_message
from schemas.items import Item

_ERROR_PATTERN = re.compile(
    r"(?P<said>.*?)(?: - at `(?P<place>[^`]*)`(?: in `(?P<within>[^`]*)`)?)?", re.S
)


def error_message(error: Exception, item: type[Item] = Item, sent: SentNames = NO_RENAMES) -> str:
    """A sentence for the sender of such an item, with the names that were `sent`."""
    if isinstance(error, UnicodeDecodeError):
        return "The text is not valid UTF-8"
    if isinstance(error, RecursionError):
        return "The JSON is nested too deeply"
    found = _ERROR_PATTERN.fullmatch(str(error))
    said, place, within = found.group("said", "place", "within") if found else (str(error), "", "")
    if within is not None:
        return f"A key in {_field(within, sent)} {_rule(said, within)}"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", said):
        return f"'{missing[1]}' is required"
    if chosen := re.fullmatch(r"Invalid enum value (.+)", said):
        return (
            f"{_field(place, sent)} must be {_literal_values(item)[_name(place)]}, not {chosen[1]}"
        )
    return f"{_subject(said, place or '$', sent)} {_rule(said, place or '$')}"


@cache
def _literal_values(item: type[Item]) -> Mapping[str, str]:
    """By wire name: the values of a field that has only a few."""
    shape = inspect.type_info(item)
    assert isinstance(shape, inspect.StructType)  # noqa: S101 - for the type checker
    found = {}
    for field in shape.fields:
        types = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
        values = [
            str(v) for one in types if isinstance(one, inspect.LiteralType) for v in one.values
        ]
        if values:
            found[field.encode_name] = f"one of {', '.join(values)}"
    return found


def _subject(said: str, place: str, sent: SentNames) -> str:
    """What broke the rule: the field, or a number somewhere inside it."""
    inside = re.search(r"\w\[", place) and re.fullmatch(r"Expected `[^`]+` [<>]=? \S+", said)
    return f"A number in {_field(place, sent)}" if inside else _field(place, sent)


def _field(place: str, sent: SentNames) -> str:
    name = _name(place)
    return f"'{sent.get(name, name)}'" if name else "The item"


def _name(place: str) -> str:
    """`$[0].properties[...]` → properties."""
    return re.sub(r"^\$(\[\d+\])?\.?", "", place).partition("[")[0].strip(".")


def _rule(said: str, place: str) -> str:
    deeper = re.search(r", got `(array|object)`", said)
    if deeper and place.count("[") >= MAX_DEPTH - 1:
        return f"may be nested at most {MAX_DEPTH} deep"
    return rule_message(said)
