"""Fragment: an expression or a condition in portable SQL, with its bound values."""

import re
from collections.abc import Mapping

from msgspec import Struct

PLACEHOLDER = re.compile(r"\$(\w+)")


class Fragment(Struct, frozen=True):
    """A piece of a statement; its text is ours, its values are the caller's and always bound."""

    text: str = ""
    values: Mapping[str, object] = {}

    def with_prefix(self, prefix: str) -> "Fragment":
        """The same with other names of its values, so that it can stand beside its like."""
        text = PLACEHOLDER.sub(rf"${prefix}\1", self.text)
        return Fragment(text, {prefix + name: value for name, value in self.values.items()})


def all_of(*conditions: Fragment) -> Fragment:
    """The conditions joined by AND; those without text hold for every row."""
    text = " AND ".join(condition.text for condition in conditions if condition.text)
    return Fragment(text, merge_values(*(condition.values for condition in conditions)))


def merge_values(*mappings: Mapping[str, object]) -> dict[str, object]:
    """The values of several fragments as one mapping; a name used twice is a bug."""
    together: dict[str, object] = {}
    for values in mappings:
        if clash := together.keys() & values.keys():
            raise ValueError(f"value names used twice: {sorted(clash)}")
        together |= values
    return together
