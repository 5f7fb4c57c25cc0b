"""Fragment: an expression or a condition in portable SQL, with its bound values."""

from collections.abc import Mapping

from msgspec import Struct


class Fragment(Struct, frozen=True):
    """A piece of a statement; its text is ours, its values are the caller's and always bound."""

    text: str = ""
    values: Mapping[str, object] = {}


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
