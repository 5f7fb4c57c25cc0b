"""Ids and dictionaries that several rollups share: of visitors, of sessions and of texts.

In a rollup they are positions among its own hashes and texts. What is numbered stays in memory, so
that other time ranges, and rows without a rollup, need no further sort of all hashes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.part_tables import NO_HASH
from query.prepared.rollup import PartLike, smallest
from query.prepared.store import PartKey

WITHOUT = 0
"""The number of rows without a visitor or session; the others are numbered from 1."""
HashesOf: TypeAlias = Callable[[str, PartKey], Numbers]
"""The hashes of a column of a stored part."""


class ColumnNumbers(Struct, frozen=True, eq=False):
    """The numbers of one column of several parts."""

    known: Numbers
    """Hashes by number, in ascending order."""
    further: Numbers
    """Those of the numbers after these."""
    by_part: Sequence[Numbers]
    """For each part the numbers by position."""

    @property
    def count(self) -> int:
        """Numbers that may occur, that of rows without included."""
        return len(self.known) + len(self.further)

    def hashes(self, numbers: Numbers) -> Numbers:
        """The hashes of numbers."""
        if not len(self.further):
            return self.known[numbers]
        is_new = numbers >= len(self.known)
        found: Numbers = self.known[np.where(is_new, WITHOUT, numbers)]
        found[is_new] = self.further[numbers[is_new] - len(self.known)]
        return found


class Numbering(Struct, frozen=True, eq=False):
    """Numbers by stored part, to which those of further rows are added."""

    hashes: Numbers
    """By number, in ascending order."""
    by_part: Mapping[PartKey, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.hashes.nbytes + sum(each.nbytes for each in self.by_part.values())

    def with_further(self, hashes: Sequence[Numbers]) -> "FurtherNumbers":
        """The numbers of further hashes by position."""
        further = np.concatenate([np.empty(0, np.int64), *hashes])
        order = np.argsort(further)  # found in a tenth of the time in their order
        numbers = np.empty(len(further), np.int64)
        numbers[order] = np.searchsorted(self.hashes, further[order])
        numbers = np.minimum(numbers, len(self.hashes) - 1)
        is_new = self.hashes[numbers] != further
        new, positions = np.unique(further[is_new], return_inverse=True)
        numbers[is_new] = len(self.hashes) + positions
        return FurtherNumbers(new, _split(numbers, hashes))


class FurtherNumbers(Struct, frozen=True, eq=False):
    """The numbers of hashes of rows without a stored part."""

    new: Numbers
    """The hashes that no stored part has; their numbers come after those of the others."""
    by_part: Sequence[Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.new.nbytes + sum(each.nbytes for each in self.by_part)


def number(hashes: Mapping[PartKey, Numbers]) -> Numbering:
    """The numbers of the hashes of stored parts."""
    everything = np.concatenate([np.array([NO_HASH]), *hashes.values()])
    order = np.argsort(everything)  # in a quarter of the time of a stable one
    ordered = everything[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    numbers = np.empty(len(order), np.uint32)
    numbers[order] = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    by_part = _split(numbers[1:], list(hashes.values()))
    return Numbering(ordered[is_first], dict(zip(hashes, by_part, strict=True)))


def number_parts(column: str, parts: Iterable[PartKey], hashes: HashesOf) -> Numbering:
    """The numbering of a column of these parts."""
    return number({key: hashes(column, key) for key in sorted(parts)})


def _split(numbers: Numbers, arrays: Sequence[Numbers]) -> Sequence[Numbers]:
    """Pieces as long as these arrays."""
    borders = np.cumsum([len(each) for each in arrays], dtype=np.int64)
    return np.split(numbers.astype(np.uint32), borders[:-1]) if arrays else []


NumberedTexts: TypeAlias = tuple[Numbers, Sequence[str | None]]
"""The number of each row's text, and the texts by number; 0 is NULL."""
TEXT_BYTES = 60
"""Of a text in memory, beside its characters."""


class PartTexts(Struct, frozen=True, eq=False):
    """The texts by number, NULL first, and for each part the numbers by its own ones."""

    texts: Sequence[str | None]
    by_part: Sequence[Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory, about, without the texts themselves."""
        return 8 * len(self.texts) + sum(each.nbytes for each in self.by_part)


class KnownTexts(Struct, frozen=True, eq=False):
    """The texts of stored parts, in ascending order after NULL."""

    texts: Sequence[str | None]
    by_part: Mapping[PartKey, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        numbers = sum(each.nbytes for each in self.by_part.values())
        return numbers + TEXT_BYTES * len(self.texts) + sum(map(len, filter(None, self.texts)))

    def of(self, keys: Sequence[PartKey], further: Sequence[Sequence[str]]) -> PartTexts:
        """Those of some parts, and of further ones, whose new texts come last."""
        known = [self.by_part[key] for key in keys]
        if not further:
            return PartTexts(self.texts, known)
        numbers = TextNumbers(self.texts, sum(map(len, further)))
        own = [np.array([NO_TEXT, *map(numbers.of, texts)], np.int64) for texts in further]
        return PartTexts(numbers.texts, [*known, *map(smallest, own)])


class TextNumbers:
    """Numbers of texts: of those in ascending order after NULL, and of new ones after these."""

    def __init__(self, ordered: Sequence[str | None] = (None,), wanted: int = 0) -> None:
        """`wanted` is about how many are looked up: many in a table of all, few by a search."""
        self._ordered: Sequence[Any] = ordered
        self._known: dict[str | None, int] | None = None
        self._further: dict[str | None, int] = {}
        if wanted * len(ordered).bit_length() > len(ordered):
            self._known = {text: i for i, text in enumerate(ordered)}

    def of(self, text: str | None) -> int:
        """The number of a text; it is added if it is new."""
        count = len(self._ordered)
        if self._known is not None:
            at = self._known.get(text, count)
        else:
            at = NO_TEXT if text is None else bisect_left(self._ordered, text, 1)
            if at < count and self._ordered[at] != text:
                at = count
        return at if at < count else self._further.setdefault(text, count + len(self._further))

    @property
    def texts(self) -> list[str | None]:
        """By number."""
        return [*self._ordered, *self._further]


def known_texts(texts: Mapping[PartKey, Sequence[str]]) -> KnownTexts:
    """The texts of stored parts, from those of each."""
    ordered = number_texts(list(texts.values()))
    return KnownTexts(ordered.texts, dict(zip(texts, ordered.by_part, strict=True)))


def number_texts(of_parts: Sequence[Sequence[str]]) -> PartTexts:
    """The texts of parts in ascending order."""
    ordered = [None, *sorted(set[str]().union(*of_parts))]
    number = {text: i for i, text in enumerate(ordered)}
    return PartTexts(ordered, [_numbers(texts, number) for texts in of_parts])


def renumbered(numbers: Numbers, texts: Sequence[str | None], known: TextNumbers) -> Numbers:
    """The numbers of rows in `known`, to which those of their texts are added that are new."""
    mapping = np.zeros(len(texts), np.int64)
    for i in np.flatnonzero(np.bincount(numbers, minlength=len(texts))).tolist():
        mapping[i] = known.of(texts[i])
    return mapping[numbers]


def in_text_order(numbers: Numbers, texts: Sequence[str | None]) -> NumberedTexts:
    """The numbers of rows and the texts in ascending order; NULL stays the first."""
    order = sorted(range(1, len(texts)), key=lambda i: texts[i] or "")
    mapping = np.zeros(len(texts), np.int64)
    mapping[order] = np.arange(1, len(texts))
    return mapping[numbers], [texts[i] for i in (NO_TEXT, *order)]


def _numbers(texts: Sequence[str], number: dict[str | None, int]) -> Numbers:
    """The number of NULL and of each text."""
    own = [NO_TEXT, *map(number.__getitem__, texts)]
    return np.array(own, np.min_scalar_type(len(number)))


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
