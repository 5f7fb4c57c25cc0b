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


def rule_message(error: str) -> str:
    """Translate `Expected `int` <= 5` into `must be at most 5`, to follow the field's name."""
    if error.startswith("JSON is malformed") or error == "Input data was truncated":
        return "is not valid JSON"
    if re.fullmatch(r"Expected `\w+` of length >= 1", error):
        return "must not be empty"
    if match := re.fullmatch(r"Expected `(\w+)` of length (\S+) (\d+)", error):
        return f"must have {_BOUND[match[2]]} {int(match[3]):,} {_LENGTH[match[1]]}"
    if match := re.fullmatch(r"Expected `[^`]+` ([<>]=?) (\S+)", error):
        return f"must be {_BOUND[match[1]]} {_format_number(match[2])}"
    if match := re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", error):
        return _type_mismatch(match[1].split(" | "), match[2])
    if match := re.fullmatch(r"Expected `str` matching regex '\^\((\w+(?:\|\w+)+)\)\$.*'", error):
        return f"must be one of {', '.join(match[1].split('|'))}"
    if match := re.fullmatch(r"Invalid (?:enum )?value (.+)", error):
        return f"has a value that is not allowed: {match[1]}"
    return f"is not valid: {error[:1].lower()}{error[1:]}"


def _type_mismatch(expected: list[str], actual: str) -> str:
    names = [_TYPE_NAMES.get(word, word) for word in expected]
    return f"must be {' or '.join(dict.fromkeys(names))}, not {_TYPE_NAMES.get(actual, actual)}"


def _format_number(text: str) -> str:
    value = float(text)
    return f"{int(text):,}" if text.lstrip("-").isdigit() else f"{value:g}"
