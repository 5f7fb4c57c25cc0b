"""Arguments of queries as the query string and the body that the API takes."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from query.client.errors import wrong_argument
from query.client.filters import _act_named, to_filters

_IN_URL = ("website_id", "link_id", "format", "formulas", "bom", "prepared")
"""Arguments that go into the query string."""
_NAMES = {"start": "startDate", "end": "endDate", "order_by": "orderBy", "as_of": "asOf"}
_BODY = (
    *("startDate", "endDate", "preset", "timezone", "granularity", "filters", "limit", "page"),
    *("orderBy", "compare", "asOf", "include_bots", "person", "id", "sortBy", "sortOrder"),
)
"""Arguments that are members of every body; others are options of a query type."""
STEP_OPTIONS = {
    "attribution": ("goal",),
    "retention": ("start", "returning"),
    "time_to_convert": ("goal",),
}
"""Options of query types that are one step."""
_ORDER = re.compile(r"(\S+?)(?:(?:\s+|:)(asc|desc))?", re.IGNORECASE)


def _split(asked: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The query string, and the members of the body; a start without an end is until now."""
    where = {name: asked[name] for name in _IN_URL if asked.get(name) is not None}
    body = _members({name: value for name, value in asked.items() if name not in _IN_URL})
    if "startDate" in body and "endDate" not in body:
        body["endDate"] = datetime.now(UTC).isoformat(timespec="seconds")
    return where, body


def _members(given: Mapping[str, Any]) -> dict[str, Any]:
    """Members by their names in the API, with filters, order and steps in full."""
    named = {_NAMES.get(name, name): value for name, value in given.items() if value is not None}
    return {name: _FORMS[name](value) if name in _FORMS else value for name, value in named.items()}


def _parameter(query_type: str | Mapping[str, Any], asked: dict[str, Any]) -> Any:
    """A query type with its options, which are taken out of the arguments.

    A granularity is one of them: a type that has no series refuses it then.
    """
    own = {"name": query_type} if isinstance(query_type, str) else dict(query_type)
    options = {
        name: asked.pop(name)
        for name in list(asked)
        if not _is_common(name) or name == "granularity"
    }
    members = _type_members({**own, **options})
    return members["name"] if list(members) == ["name"] else members


def _type_members(given: Mapping[str, Any]) -> dict[str, Any]:
    """Members of a query type, with the steps in full that are no list.

    `start` among those of retention is such a step, not the first day.
    """
    options = STEP_OPTIONS.get(given.get("name", ""), ())
    steps = [name for name in options if given.get(name) is not None]
    others = {name: value for name, value in given.items() if name not in steps}
    return {**_members(others), **{name: _step(given[name]) for name in steps}}


def _is_common(name: str) -> bool:
    return name in _IN_URL or _NAMES.get(name, name) in _BODY


def _order(given: Any) -> list[Any]:
    """Terms of an order: `visitors`, `"name asc"` or dicts, alone or in a list."""
    if isinstance(given, str):
        given = [each.strip() for each in given.split(",")]
    return [_order_term(each) for each in ([given] if isinstance(given, Mapping) else given)]


def _order_term(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    match = _ORDER.fullmatch(given)
    if match is None:
        raise wrong_argument(f"order '{given}' is not a field with asc or desc", "orderBy")
    return {"field": match[1], "direction": (match[2] or "desc").lower()}


def to_steps(given: Any) -> list[Any]:
    """Steps of a funnel, or goals: names of saved goals, paths or events, or dicts."""
    steps = [given] if isinstance(given, str | Mapping) else given
    return [_step(each) for each in steps]


def _step(given: Any) -> Any:
    if isinstance(given, str):
        return _act_named(given)
    return _members(given) if isinstance(given, Mapping) else given


def _names(given: str | Sequence[str]) -> list[str]:
    """Names, from a list or from a text with commas."""
    return [n.strip() for n in given.split(",")] if isinstance(given, str) else list(given)


_FORMS: Mapping[str, Any] = {
    "startDate": str,
    "endDate": str,
    "filters": to_filters,
    "having": to_filters,
    "orderBy": _order,
    "steps": to_steps,
    "exclusions": to_steps,
    "goals": to_steps,
    "of": lambda given: _type_members(given) if isinstance(given, Mapping) else given,
}
