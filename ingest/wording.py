"""What was wrong with an item, in the sender's words: the field, and the rule that it broke."""

import re

from ingest.bounds import DEPTH

_PLACE = re.compile(r"(?P<said>.*?)(?: - at `(?P<place>[^`]*)`(?: in `(?P<within>[^`]*)`)?)?", re.S)
_WORDS = {
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


def in_words(error: Exception) -> str:
    """A sentence for the sender."""
    if isinstance(error, UnicodeDecodeError):
        return "The text is not valid UTF-8"
    if isinstance(error, RecursionError):
        return "The JSON is nested too deeply"
    found = _PLACE.fullmatch(str(error))
    said, place, within = found.group("said", "place", "within") if found else (str(error), "", "")
    if within is not None:
        return f"A key in {_field(within)} {_rule(said, within)}"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", said):
        return f"'{missing[1]}' is required"
    return f"{_field(place or '$')} {_rule(said, place or '$')}"


def _field(place: str) -> str:
    """`$[0].properties[...]` → 'properties'."""
    name = re.sub(r"^\$(\[\d+\])?\.?", "", place).partition("[")[0].strip(".")
    return f"'{name}'" if name else "The item"


def _rule(said: str, place: str) -> str:
    if said.startswith("JSON is malformed") or said == "Input data was truncated":
        return "is not valid JSON"
    if re.fullmatch(r"Expected `\w+` of length >= 1", said):
        return "must not be empty"
    if found := re.fullmatch(r"Expected `(\w+)` of length (\S+) (\d+)", said):
        return f"must have {_BOUND[found[2]]} {int(found[3]):,} {_LENGTH[found[1]]}"
    if found := re.fullmatch(r"Expected `\w+` (\S+) (\S+)", said):
        return f"must be {_BOUND[found[1]]} {_number(found[2])}"
    if found := re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", said):
        return _instead(found[1].split(" | "), found[2], place)
    if found := re.fullmatch(r"Invalid enum value (.+)", said):
        return f"has a value that is not allowed: {found[1]}"
    return f"is not valid: {said[:1].lower()}{said[1:]}"


def _instead(wanted: list[str], got: str, place: str) -> str:
    if got in ("array", "object") and place.count("[") >= DEPTH - 1:
        return f"may be nested at most {DEPTH} deep"
    words = [_WORDS.get(word, word) for word in wanted]
    return f"must be {' or '.join(dict.fromkeys(words))}, not {_WORDS.get(got, got)}"


def _number(text: str) -> str:
    value = float(text)
    return f"{int(text):,}" if text.lstrip("-").isdigit() else f"{value:g}"
