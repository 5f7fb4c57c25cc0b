"""Ranges of whole numbers, for rows that count who lies in each; the last one has no end."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct


class NumberRange(Struct, frozen=True):
    """The whole numbers from `least` up to and with `most`; None: all from there on."""

    least: int
    most: int | None

    @property
    def label(self) -> str:
        """Such as `3`, `11-15` or `101+`."""
        if self.most is None:
            return f"{self.least}+"
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"

    @property
    def columns(self) -> tuple[str, int, int | None]:
        """The label and both ends."""
        return self.label, self.least, self.most


def number_ranges(*least: int) -> Sequence[NumberRange]:
    """The ranges that begin with these numbers, each up to the next one."""
    bounded = [NumberRange(first, following - 1) for first, following in pairwise(least)]
    return (*bounded, NumberRange(least[-1], None))


def range_index(value: str, ranges: Sequence[NumberRange]) -> str:
    """SQL of the index of the range of a value that is not less than the first one."""
    indexes = range(len(ranges) - 1, 0, -1)
    cases = (f"WHEN {value} >= {ranges[index].least} THEN {index}" for index in indexes)
    return " ".join(("CASE", *cases, "ELSE 0 END"))
