"""`goal` in filters: the rows that complete a saved goal of the website.

A condition on `goal` becomes a condition on a field of that goal alone, whose SQL is the goal's.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, structs

from query.request.filter_struct import MAX_DEPTH, Filter
from query.request.filters import FilterField
from query.request.saved_goals import find_goal
from query.sql.fragment import Fragment
from query.standard.scope import filterable_fields
from query.standard.sql.steps import saved_step, step_condition
from schemas.errors import Malformed
from schemas.registry import Goal, SavedRecords
from schemas.tables import EVENTS

GOAL = "goal"
PREFIX = "goal:"
"""Before the id of a goal: a field that requests cannot name themselves."""
POSITIVE = {"eq": True, "in": True, "ne": False, "not_in": False}
"""The operators that apply, and whether a row has to complete the goal."""

STORED_FIELDS: Mapping[str, FilterField] = filterable_fields(EVENTS)


def expand_goals(
    filters: Sequence[Filter], saved: SavedRecords, path: str = "filters", depth: int = 0
) -> list[Filter]:
    """The filters with conditions on goals by their ids; Malformed for an unknown goal."""
    return [_expand(one, saved, f"{path}[{i}]", depth) for i, one in enumerate(filters)]


def _expand(filter_: Filter, saved: SavedRecords, path: str, depth: int) -> Filter:
    if filter_.groups:
        if depth == MAX_DEPTH:  # refused when it is compiled
            return filter_
        none_of = filter_.none_of
        parts = {
            name: expand_goals(group, saved, f"{path}.{word}", depth + 1)
            for name, word, group in (
                ("all_of", "and", filter_.all_of),
                ("any_of", "or", filter_.any_of),
            )
            if group is not None
        }
        inverted = none_of and _expand(none_of, saved, f"{path}.not", depth + 1)
        return structs.replace(filter_, **parts, none_of=inverted)
    if filter_.field is not None and filter_.field.startswith(PREFIX):
        raise Malformed(f"'{path}.field' is '{filter_.field[:60]}'; use '{GOAL}' and its name")
    return filter_ if filter_.field != GOAL else _of_goals(filter_, saved, path)


def _of_goals(filter_: Filter, saved: SavedRecords, path: str) -> Filter:
    operator = filter_.operator or filter_.op
    if operator not in POSITIVE:
        known = ", ".join(POSITIVE)
        raise Malformed(f"'{path}': '{GOAL}' takes the operators {known}")
    value = [] if filter_.value is UNSET else filter_.value
    names = value if isinstance(value, list) else [value]
    if not names:
        raise Malformed(f"'{path}.value' is missing; give the name of a saved goal")
    any_of = [
        Filter(
            field=PREFIX + find_goal(str(name), saved, f"{path}.value").id,
            operator="eq",
            value=True,
        )
        for name in names
    ]
    together = any_of[0] if len(any_of) == 1 else Filter(any_of=any_of)
    return together if POSITIVE[operator] else Filter(none_of=together)


def goal_conditions(fields: Iterable[str], saved: SavedRecords) -> Mapping[str, Fragment]:
    """The conditions on a stored row of the goals among these fields."""
    found = {}
    for i, field in enumerate(sorted(name for name in fields if name.startswith(PREFIX))):
        goal = saved.find(Goal, field.removeprefix(PREFIX))
        if goal is not None:
            found[field] = step_condition(
                saved_step(goal), f"goal '{goal.name}'", f"saved_goal{i}", STORED_FIELDS
            )
    return found
