"""Validation messages for senders: the field, and the rule that it broke."""

import re
from collections.abc import Mapping
from functools import cache

from msgspec import inspect

from ingest.decoding.field_aliases import NO_RENAMES, SentNames
from ingest.decoding.limits import MAX_DEPTH
from schemas.http.validation_messages import rule_message
from schemas.items import Item

_ERROR_PATTERN = re.compile(
    r"(?P<problem>.*?)(?: - at `(?P<path>[^`]*)`(?: in `(?P<key_path>[^`]*)`)?)?", re.S
)

NOT_A_NUMBER = re.compile(rb"\b(NaN|Infinity)\b")
"""What Python's `json` writes for numbers that JSON does not have."""


def error_message(
    error: Exception,
    item: type[Item] = Item,
    sent_names: SentNames = NO_RENAMES,
    text: bytes = b"",
) -> str:
    """The message for an item that does not decode, with the field names of the sender."""
    if isinstance(error, UnicodeDecodeError):
        return "The text is not valid UTF-8"
    if isinstance(error, RecursionError):
        return "The JSON is nested too deeply"
    if NOT_A_NUMBER.search(text) and str(error).startswith("JSON is malformed"):
        return "The item is not valid JSON, which has no NaN and no Infinity; send null instead"
    match = _ERROR_PATTERN.fullmatch(str(error))
    problem, path, key_path = (
        match.group("problem", "path", "key_path") if match else (str(error), "", "")
    )
    if key_path is not None:
        return f"A key in {_field(key_path, sent_names)} {_rule(problem, key_path)}"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", problem):
        return f"'{missing[1]}' is required"
    if unknown_value := re.fullmatch(r"Invalid enum value (.+)", problem):
        allowed = _literal_values(item)[_name(path)]
        return f"{_field(path, sent_names)} must be {allowed}, not {unknown_value[1]}"
    return f"{_subject(problem, path or '$', sent_names)} {_rule(problem, path or '$')}"


@cache
def _literal_values(item: type[Item]) -> Mapping[str, str]:
    """The values of each field that is an enumeration, by wire name."""
    struct_type = inspect.type_info(item)
    assert isinstance(struct_type, inspect.StructType)  # noqa: S101 - for the type checker
    descriptions = {}
    for field in struct_type.fields:
        types = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
        values = [
            str(value)
            for type_ in types
            if isinstance(type_, inspect.LiteralType)
            for value in type_.values
        ]
        if values:
            descriptions[field.encode_name] = f"one of {', '.join(values)}"
    return descriptions


def _subject(problem: str, path: str, sent_names: SentNames) -> str:
    """The subject of the message: the field, or a number inside it."""
    inside = re.search(r"\w\[", path) and re.fullmatch(r"Expected `[^`]+` [<>]=? \S+", problem)
    return f"A number in {_field(path, sent_names)}" if inside else _field(path, sent_names)


def _field(path: str, sent_names: SentNames) -> str:
    name = _name(path)
    return f"'{sent_names.get(name, name)}'" if name else "The item"


def _name(path: str) -> str:
    """`$[0].properties[...]` → properties."""
    return re.sub(r"^\$(\[\d+\])?\.?", "", path).partition("[")[0].strip(".")


def _rule(problem: str, path: str) -> str:
    nested = re.search(r", got `(array|object)`", problem)
    if nested and path.count("[") >= MAX_DEPTH - 1:
        return f"may be nested at most {MAX_DEPTH} deep"
    return rule_message(problem)
