"""Saved goals in steps and in what visitors did: by `goal`, or by a `name` that may be one.

A `name` is a saved goal of the website, else the path of a page view if it begins with `/`, else an
event.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import convert

from query.request.filter_struct import Filter
from query.request.suggestions import unknown_name_message
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords


def members_of_act(
    members: Mapping[str, str | None], saved: SavedRecords, at: str
) -> Mapping[str, Any]:
    """The event or path that `event`, `path`, `goal` and `name` stand for; Malformed.

    With `filters` and `label` of a saved goal.
    """
    given = [member for member, value in members.items() if value is not None]
    if len(given) > 1:
        raise Malformed(f"'{at}' has both '{given[0]}' and '{given[1]}'; give one of them")
    if (reference := members["goal"]) is not None:
        return goal_members(find_goal(reference, saved, at))
    if (name := members["name"]) is None:
        return {}
    goal = _goal_named(name, saved, at)
    if goal is not None:
        return goal_members(goal)
    return {"path" if name.startswith("/") else "event": name}


def goal_members(goal: Goal) -> Mapping[str, Any]:
    """What a saved goal is: event or path, filters, label, the property with its value."""
    return {
        "event": goal.event,
        "path": goal.path,
        "filters": convert(goal.filters, list[Filter]),
        "label": goal.name,
        "value": goal.value_property,
    }


def find_goal(reference: str, saved: SavedRecords, at: str) -> Goal:
    """The saved goal of that id or name; Malformed names the others."""
    goal = saved.find(Goal, reference)
    if goal is None:
        names = [known.name for known in saved.of(Goal)]
        raise Malformed(unknown_name_message("goal", reference, names, f" in '{at}'"))
    return goal


def _goal_named(name: str, saved: SavedRecords, at: str) -> Goal | None:
    """The saved goal of that name, if there is one; Malformed for a name that is nearly one."""
    if any(name in (goal.id, goal.name) for goal in saved.of(Goal)):
        return find_goal(name, saved, at)
    for goal in saved.of(Goal):
        if goal.name.casefold() == name.casefold():
            other = "path" if name.startswith("/") else "event"
            raise Malformed(
                f"'{at}' is '{name}': the {other} '{name}', or the saved goal '{goal.name}'? "
                f"Give {{'{other}': '{name}'}} or {{'goal': '{goal.name}'}}"
            )
    return None
