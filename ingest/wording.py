"""What was wrong with an item, in the sender's words: the field, and the rule that it broke."""

import re

from ingest.bounds import DEPTH
from schemas.edge.wording import rule

_PLACE = re.compile(r"(?P<said>.*?)(?: - at `(?P<place>[^`]*)`(?: in `(?P<within>[^`]*)`)?)?", re.S)


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
    return f"{_subject(said, place or '$')} {_rule(said, place or '$')}"


def _subject(said: str, place: str) -> str:
    """What broke the rule: the field, or a number somewhere inside it."""
    inside = re.search(r"\w\[", place) and re.fullmatch(r"Expected `[^`]+` [<>]=? \S+", said)
    return f"A number in {_field(place)}" if inside else _field(place)


def _field(place: str) -> str:
    """`$[0].properties[...]` → 'properties'."""
    name = re.sub(r"^\$(\[\d+\])?\.?", "", place).partition("[")[0].strip(".")
    return f"'{name}'" if name else "The item"


def _rule(said: str, place: str) -> str:
    deeper = re.search(r", got `(array|object)`", said)
    if deeper and place.count("[") >= DEPTH - 1:
        return f"may be nested at most {DEPTH} deep"
    return rule(said)
