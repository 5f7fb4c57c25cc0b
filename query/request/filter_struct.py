"""Filter: filters as requests have them: conditions, groups of them, and what visitors did."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from query.request.filter_values import Value
from schemas.errors import Malformed

MAX_DEPTH = 4

BehaviorText = Annotated[str, Meta(min_length=1, max_length=2048)]


class Filter(
    Struct,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"all_of": "and", "any_of": "or", "none_of": "not"},
):
    """One condition, a group, a segment, or what visitors did; `operator` and `op` are the same.

    `has_done` and `has_not_done` keep all rows of the visitors who did it, or who did not.
    """

    field: str | None = None
    operator: str | None = None
    op: str | None = None
    value: Value | list[Value] | UnsetType = UNSET
    all_of: "list[Filter] | None" = None
    any_of: "list[Filter] | None" = None
    none_of: "Filter | None" = None
    segment: str | None = None
    """Id or name of a segment, whose filters stand here instead; see `segments.py`."""
    has_done: "Behavior | None" = None
    has_not_done: "Behavior | None" = None

    @property
    def is_condition(self) -> bool:
        """Whether it has a member of a condition."""
        names = (self.field, self.operator, self.op)
        return self.value is not UNSET or any(name is not None for name in names)

    @property
    def groups(self) -> "Sequence[tuple[str, list[Filter]]]":
        """The groups of this filter, with the operator of each."""
        inverted = None if self.none_of is None else [self.none_of]
        groups_by_word = (("and", self.all_of), ("or", self.any_of), ("not", inverted))
        return [(word, parts) for word, parts in groups_by_word if parts is not None]

    @property
    def behaviors(self) -> "Sequence[tuple[str, Behavior]]":
        """What visitors must have done or not, with the member that says which."""
        by_word = (("has_done", self.has_done), ("has_not_done", self.has_not_done))
        return [(word, behavior) for word, behavior in by_word if behavior is not None]


class Behavior(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a visitor did: an event, a page view of a path, a saved goal, rows that filters keep."""

    event: BehaviorText | None = None
    path: BehaviorText | None = None
    goal: BehaviorText | None = None
    """A saved goal by its id or name."""
    name: BehaviorText | None = None
    """A saved goal, else a path that begins with `/`, else an event."""
    filters: list[Filter] = []
    within: Literal["range", "ever"] = "range"
    """In the time range of the query, or in all that is stored, before and after it too."""
    times: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    """How often at least."""


def fields_named(filter_: Filter) -> set[str]:
    """The fields of rows that a filter and its groups name; what visitors did names none."""
    return {part.field for part in with_parts(filter_) if part.field is not None}


def names_behavior(filter_: Filter) -> bool:
    """Whether a filter or one in its groups is about what visitors did."""
    return any(part.behaviors for part in with_parts(filter_))


def with_parts(filter_: Filter, *, of_behaviors: bool = False) -> Iterator[Filter]:
    """The filter and all in its groups, or also in behaviors.

    Without recursion, because how deep they are nested is checked later.
    """
    waiting = [filter_]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += (each for _, parts in part.groups for each in parts)
        if of_behaviors:
            waiting += (each for _, behavior in part.behaviors for each in behavior.filters)


def with_conditions(filter_: Filter, change: Callable[[Filter], Filter]) -> Filter:
    """The filter with a change to each condition in its groups; none is about behavior."""
    if not filter_.groups:
        return change(filter_)

    def changed(parts: Sequence[Filter] | None) -> list[Filter] | None:
        return None if parts is None else [with_conditions(part, change) for part in parts]

    none_of = filter_.none_of and with_conditions(filter_.none_of, change)
    return Filter(all_of=changed(filter_.all_of), any_of=changed(filter_.any_of), none_of=none_of)


def flatten(
    filters: Sequence[Filter], path: str, depth: int = 0, of_behavior: bool = False
) -> Iterator[Filter]:
    """The conditions in all groups and behaviors; Malformed when they are nested too deep."""
    for i, filter_ in enumerate(filters):
        if filter_.segment is not None:
            raise Malformed(f"'{path}[{i}].segment': a segment cannot be named here")
        if filter_.behaviors and of_behavior:
            raise Malformed(f"'{path}' cannot hold 'has_done' or 'has_not_done' again")
        if not filter_.groups:
            if filter_.field is None and not filter_.behaviors and not depth:
                raise Malformed(f"'{path}[{i}].field' is missing")
            yield filter_
        elif depth == MAX_DEPTH:
            raise Malformed(
                f"'{path}' is nested too deep; at most {MAX_DEPTH} groups in each other"
            )
        for _, parts in filter_.groups:
            yield from flatten(parts, path, depth + 1, of_behavior)
        for word, behavior in filter_.behaviors:
            yield from flatten(behavior.filters, f"{path}[{i}].{word}.filters", 0, of_behavior=True)
