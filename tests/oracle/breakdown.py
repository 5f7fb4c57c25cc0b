"""Breakdown: what is counted, split by the value that each has; the largest values apart."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from tests.oracle.aggregates import ResultRow
from tests.oracle.stored_rows import Row
from tests.oracle.visits import read_as

T = TypeVar("T")


def value_of(row: Row, name: str) -> str | None:
    """The text of a row's field or property; a source is its visit's."""
    if name.startswith("properties."):
        told = json.loads(row.get("properties") or "{}").get(name.removeprefix("properties."))
    else:
        told = row.get(read_as({"field": name})["field"])
    if told is None or isinstance(told, str):
        return told
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


class Part(Struct, Generic[T]):
    """A group: of one value, or of all others."""

    value: str | None
    other: bool
    things: list[T]


def parts(
    options: Mapping[str, Any],
    things: Sequence[T],
    value: Callable[[T], str | None],
    size: Callable[[list[T]], int],
) -> list[Part[T]]:
    """The groups by size, the others last.

    Values that are `chosen` beforehand have groups of their own, however large they are.
    """
    by_value: dict[str | None, list[T]] = {}
    for thing in things:
        by_value.setdefault(value(thing), []).append(thing)
    ranked = sorted(by_value, key=lambda each: (-size(by_value[each]), each is None, each or ""))
    apart = ranked[: options.get("breakdown_limit", 10)]
    if "chosen" in options:
        apart = [each for each in ranked if each in options["chosen"]]
    found = [Part(each, False, by_value[each]) for each in apart]
    rest = [thing for each in ranked if each not in apart for thing in by_value[each]]
    return [*found, Part(None, True, rest)] if len(apart) < len(ranked) else found


def split(
    options: Mapping[str, Any],
    things: Sequence[T],
    value: Callable[[T], str | None],
    size: Callable[[list[T]], int],
    rows: Callable[[list[T]], list[ResultRow]],
) -> list[ResultRow]:
    """The rows of each group of things; of all things without a breakdown."""
    if "breakdown" not in options:
        return rows(list(things))
    return [
        {**row, "breakdown": part.value, "other": part.other}
        for part in parts(options, things, value, size)
        for row in rows(part.things)
    ]


def of_group(
    options: Mapping[str, Any],
    things: Sequence[T],
    value: Callable[[T], str | None],
    size: Callable[[list[T]], int],
) -> list[T]:
    """The things of the group that the options name; all if they name none."""
    group = options.get("group")
    if group is None:
        return list(things)
    if not group.get("other"):
        return [thing for thing in things if value(thing) == group["breakdown"]]
    others = [part for part in parts(options, things, value, size) if part.other]
    return others[0].things if others else []
