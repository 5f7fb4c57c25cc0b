"""Fragment: an expression or a condition in portable SQL, with its bound values.

A condition may name sets of visitors, which stand as relations in front of the statement.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, structs

PLACEHOLDER = re.compile(r"\$(\w+)")


class Fragment(Struct, frozen=True):
    """A piece of a statement; its text is ours, its values are the caller's and always bound."""

    text: str = ""
    values: Mapping[str, object] = {}
    visitor_sets: "tuple[VisitorSet, ...]" = ()
    """The sets of visitors that the text names."""

    def with_text(self, text: str) -> "Fragment":
        """Another text around this one, with the same values and sets of visitors."""
        return structs.replace(self, text=text)

    def with_prefix(self, prefix: str) -> "Fragment":
        """The same with other names of its values, so that it can stand beside its like."""
        text = PLACEHOLDER.sub(rf"${prefix}\1", self.text)
        return Fragment(text, {prefix + name: value for name, value in self.values.items()})


class VisitorSet(Struct, frozen=True):
    """The visitors who have at least some number of events for which a condition holds."""

    name: str
    """The relation; the same name is the same set in all conditions of a query."""
    where: Fragment
    """A condition on the rows of `events`."""
    ever: bool = False
    """Whether all stored events count, not only those of the time range."""
    times: int = 1

    @property
    def column(self) -> str:
        """The column of the relation."""
        return "set_visitor"


def all_of(*conditions: Fragment) -> Fragment:
    """The conditions joined by AND; those without text hold for every row."""
    text = " AND ".join(condition.text for condition in conditions if condition.text)
    values = merge_values(*(condition.values for condition in conditions))
    sets = tuple(each for condition in conditions for each in condition.visitor_sets)
    return Fragment(text, values, sets)


def merge_values(*mappings: Mapping[str, object]) -> dict[str, object]:
    """The values of several fragments as one mapping; a name of two values is a bug."""
    together: dict[str, object] = {}
    for values in mappings:
        both = together.keys() & values.keys()
        if clash := [name for name in both if together[name] != values[name]]:
            raise ValueError(f"value names used twice: {sorted(clash)}")
        together |= values
    return together
