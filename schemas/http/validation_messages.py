"""Validation messages: msgspec's errors in plain words, without the field's name."""

import re

_TYPE_NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
_LENGTH = {"str": "characters", "object": "keys", "array": "elements"}
_BOUND = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def rule_message(said: str) -> str:
    """`Expected `int` <= 5` as `must be at most 5`: what follows the name of the field."""
    if said.startswith("JSON is malformed") or said == "Input data was truncated":
        return "is not valid JSON"
    if re.fullmatch(r"Expected `\w+` of length >= 1", said):
        return "must not be empty"
    if found := re.fullmatch(r"Expected `(\w+)` of length (\S+) (\d+)", said):
        return f"must have {_BOUND[found[2]]} {int(found[3]):,} {_LENGTH[found[1]]}"
    if found := re.fullmatch(r"Expected `[^`]+` ([<>]=?) (\S+)", said):
        return f"must be {_BOUND[found[1]]} {_format_number(found[2])}"
    if found := re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", said):
        return _type_mismatch(found[1].split(" | "), found[2])
    if found := re.fullmatch(r"Invalid enum value (.+)", said):
        return f"has a value that is not allowed: {found[1]}"
    return f"is not valid: {said[:1].lower()}{said[1:]}"


def _type_mismatch(wanted: list[str], got: str) -> str:
    words = [_TYPE_NAMES.get(word, word) for word in wanted]
    return f"must be {' or '.join(dict.fromkeys(words))}, not {_TYPE_NAMES.get(got, got)}"


def _format_number(text: str) -> str:
    value = float(text)
    return f"{int(text):,}" if text.lstrip("-").isdigit() else f"{value:g}"
