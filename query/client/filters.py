"""Filters in short text: `country = DE`, `path starts_with /docs`, `has done signup ever`.

Operators have the names of the API or a sign: = != > >= < <= and ~ (contains), !~ (not_contains).
A value may be a number, true, false, or a text, in quotes where it looks like one of those or ends
in spaces. Lists are separated by commas: `country in DE, AT`.
`has done`, `has not done` are followed by a saved goal, a path or an event, then `ever` and
`3 times` if wanted.
`segment = Germans` stands for the filters of a saved segment.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from query.client.errors import wrong_argument

_SIGNS = {
    "=": "eq",
    "==": "eq",
    "!=": "ne",
    "<>": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "~": "contains",
    "!~": "not_contains",
}
_TEXTS = ("contains", "not_contains", "starts_with", "ends_with")
"""Operators whose value is always text."""
_LISTS = ("in", "not_in")
_ALONE = ("is_null", "is_not_null")
_WORDS = ("eq", "ne", "gt", "gte", "lt", "lte", *_TEXTS, *_LISTS, *_ALONE)
_ACTS = ("event", "path", "goal")
_GROUPS = ("and", "or", "not", "filters", "has_done", "has_not_done")
_BEHAVIOR = re.compile(
    r"""\s*has(?:_|\s+)(?P<not>not(?:_|\s+))?done\s+
    (?P<act>"[^"]*"|'[^']*'|.+?)
    (?:\s+(?P<times>[0-9]{1,7})\s+times)?(?:\s+(?P<ever>ever))?\s*""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
_CONDITION = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<field>[^\s=!<>~"]+))
    (?:\s*(?P<sign>[=!<>~]+)
    |\s+(?P<word>
        not(?:_|\s+)(?:in|contains)
        |(?:starts|ends)(?:_|\s+)with
        |is(?:_|\s+)(?:not(?:_|\s+))?null
        |[a-z_]+
    )(?=[\s(\[]|$))\s*(?P<value>.*)""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
_FURTHER = re.compile(
    r"""(?:,|\s(?:and|or|&&|\|\|))\s*[\w.]+
    (?:\s*(?:[=!<>]=?|!?~)
    |\s+(?:eq|ne|[gl]te?|not_in|not_contains|(?:starts|ends)_with|is(?:_|\s+)(?:not(?:_|\s+))?null)(?:\s|$))""",
    re.IGNORECASE | re.VERBOSE,
)
"""A second condition in the value of the first; not by words that stand in other texts."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_EXAMPLE = 'write it as in "country = DE", "path starts_with /docs" or "referrer is null"'


def parse_filter(text: str) -> dict[str, Any]:
    """One condition of the API from its short text; InvalidRequest says what is wrong."""
    behavior = _BEHAVIOR.fullmatch(text)
    if behavior is not None:
        return _behavior(behavior)
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise wrong_argument(f"filter '{text}' is no condition; {_EXAMPLE}", "filters")
    given = match["sign"] or re.sub(r"\s+", "_", match["word"].lower())
    operator = _SIGNS.get(given, given)
    if operator not in _WORDS:
        known = ", ".join((*_SIGNS, *_WORDS))
        raise wrong_argument(
            f"filter '{text}': operator '{given}' is not one of {known}", "filters"
        )
    condition = {"field": match["quoted"] or match["field"], "operator": operator}
    value = match["value"].strip()
    if match["field"] == "segment":
        return _segment(text, operator, value)
    if operator in _ALONE:
        if value:
            raise wrong_argument(f"filter '{text}': '{operator}' takes no value", "filters")
        return condition
    if not value:
        raise wrong_argument(f"filter '{text}' has no value; {_EXAMPLE}", "filters")
    if value[0] not in "\"'" and _FURTHER.search(value):
        raise wrong_argument(
            f"filter '{text}' has several conditions; give each by itself, as all must hold, or as "
            'JSON for one of them: {"or": […]}. A value with such words is put in quotes',
            "filters",
        )
    if operator in _LISTS:
        return {**condition, "value": _values(value)}
    return {**condition, "value": _value(value, is_text=operator in _TEXTS)}


def _behavior(match: re.Match[str]) -> dict[str, Any]:
    """What visitors did: a saved goal, a path that begins with `/`, or an event."""
    did = _act_named(str(_value(match["act"], is_text=True)))
    if match["times"]:
        did["times"] = int(match["times"])
    if match["ever"]:
        did["within"] = "ever"
    return {"has_not_done" if match["not"] else "has_done": did}


def _segment(text: str, operator: str, value: str) -> dict[str, Any]:
    """The filters of a segment, or their negation."""
    if operator not in ("eq", "ne") or not value:
        raise wrong_argument(
            f"filter '{text}': write 'segment = NAME' or 'segment != NAME'", "filters"
        )
    segment = {"segment": str(_value(value, is_text=True))}
    return segment if operator == "eq" else {"not": segment}


def _act_named(text: str) -> dict[str, Any]:
    """A saved goal, a path or an event by its name; `event:`, `path:` and `goal:` say which."""
    member, colon, rest = text.partition(":")
    return {member: rest} if colon and rest and member in _ACTS else {"name": text}


def to_filters(given: Any) -> list[Any]:
    """The filters of a request, from dicts and short texts, alone or in a list."""
    if isinstance(given, str | Mapping):
        given = [given]
    return [_filter(each) for each in given]


def _filter(given: Any) -> Any:
    if isinstance(given, str):
        return parse_filter(given)
    if not isinstance(given, Mapping):
        return given
    return {name: _group(value) if name in _GROUPS else value for name, value in given.items()}


def _group(value: Any) -> Any:
    return _filter(value) if isinstance(value, str | Mapping) else to_filters(value)


def _value(text: str, is_text: bool = False) -> Any:
    if text[0] == text[-1] == '"' and len(text) > 1:
        return text[1:-1].replace('\\"', '"')
    if text[0] == text[-1] == "'" and len(text) > 1:
        return text[1:-1]
    if is_text:
        return text
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def _values(text: str) -> Sequence[Any]:
    inner = text[1:-1] if text[0] + text[-1] in ("()", "[]") else text
    return [_value(each) for each in _split_list(inner)]


def _split_list(text: str) -> Iterable[str]:
    """The elements between commas outside of quotes, with their quotes."""
    found = re.findall(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]*?)\s*(?:,|$)""", text)
    return [each for each in found if each]
