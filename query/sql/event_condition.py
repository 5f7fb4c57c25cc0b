"""The condition that a row is an event of a name, or a page view of a path."""

from query.sql.fragment import Fragment
from query.sql.row_definitions import PAGE_VIEW

WILDCARD = "*"
"""Any characters, in a path."""


def stored_path(path: str) -> str:
    """The path as rows have it: without a slash at the end, unless that is all."""
    return path.rstrip("/") or "/"


def event_condition(event: str | None, path: str | None, value: str) -> Fragment:
    """One of both is given; `value` is the name of the bound value."""
    if path is None:
        return Fragment(f"name = ${value}", {value: event})
    condition = path_condition(path, value)
    return condition.with_text(f"{PAGE_VIEW} AND {condition.text}")


def path_condition(path: str, value: str) -> Fragment:
    """Whether a row has the path, in which `*` stands for any characters."""
    path = stored_path(path)
    if WILDCARD not in path:
        return Fragment(f"path = ${value}", {value: path})
    pattern = path.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return Fragment(f"path LIKE ${value} ESCAPE '!'", {value: pattern.replace(WILDCARD, "%")})
