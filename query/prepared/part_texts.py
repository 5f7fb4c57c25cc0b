"""Texts of a column of several parts: the same number for the same text in all of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.part_folder import PartKey

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
        number = {text: i for i, text in enumerate(self.texts)}
        own = [_numbers(texts, number) for texts in further]
        return PartTexts(list(number), [*known, *own])


def known_texts(texts: Mapping[PartKey, Sequence[str]]) -> KnownTexts:
    """The texts of stored parts, from those of each."""
    ordered = number_texts(list(texts.values()))
    return KnownTexts(ordered.texts, dict(zip(texts, ordered.by_part, strict=True)))


def number_texts(of_parts: Sequence[Sequence[str]]) -> PartTexts:
    """The texts of parts in ascending order."""
    ordered = [None, *sorted(set[str]().union(*of_parts))]
    number = {text: i for i, text in enumerate(ordered)}
    return PartTexts(ordered, [_numbers(texts, number) for texts in of_parts])


def renumbered(
    numbers: Numbers, texts: Sequence[str | None], known: dict[str | None, int]
) -> Numbers:
    """The numbers of rows in `known`, to which those of their texts are added that are new."""
    mapping = np.zeros(len(texts), np.int64)
    for i in np.flatnonzero(np.bincount(numbers, minlength=len(texts))).tolist():
        mapping[i] = known.setdefault(texts[i], len(known))
    return mapping[numbers]


def _numbers(texts: Sequence[str], number: dict[str | None, int]) -> Numbers:
    """The number of NULL and of each text; new ones are added."""
    own = [NO_TEXT, *(number.setdefault(text, len(number)) for text in texts)]
    return np.array(own, np.min_scalar_type(len(number)))
