"""NumberedParts: parts, and the numbers that their visitors, sessions and texts have in all."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from query.prepared.numbering import ColumnNumbers
from query.prepared.part import PartLike
from query.prepared.part_texts import PartTexts, number_texts

NumbersOf: TypeAlias = Callable[[str], ColumnNumbers]
"""The numbers of a column of visitors or sessions."""
TextsOf: TypeAlias = Callable[[str, str], PartTexts]
"""The texts of a table and column."""


class NumberedParts(Struct, frozen=True, eq=False):
    """Parts, and what has the same number in all of them; stored ones come first."""

    parts: Sequence[PartLike]
    numbers: NumbersOf
    stored: int
    """The number of stored ones."""
    part_numbers: Sequence[int]
    """The number of each part among all known ones; the rest comes after them."""
    known_texts: TextsOf | None = None
    """Texts of parts; None where they are numbered for each query."""

    def texts(self, table: str, column: str) -> PartTexts:
        """The texts of a column of all parts."""
        if self.known_texts is not None:
            return self.known_texts(table, column)
        return number_texts([each.table(table).texts[column] for each in self.parts])

    def some(self, first: int, end: int) -> "NumberedParts":
        """The parts at some positions."""

        def numbers(column: str) -> ColumnNumbers:
            of_all = self.numbers(column)
            return structs.replace(of_all, by_part=of_all.by_part[first:end])

        def texts(table: str, column: str) -> PartTexts:
            of_all = self.texts(table, column)
            return PartTexts(of_all.texts, of_all.by_part[first:end])

        stored = min(max(0, self.stored - first), end - first)
        own = self.part_numbers[first:end]
        return NumberedParts(self.parts[first:end], numbers, stored, own, texts)
