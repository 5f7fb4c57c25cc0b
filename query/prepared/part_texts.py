"""Texts of a column of several parts: the same number for the same text in all of them."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.part import smallest
from query.prepared.part_folder import PartKey

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
