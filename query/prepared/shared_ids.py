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
from query.prepared.rollup import AnyRollup, smallest
from query.prepared.rollup_tables import NO_HASH
from query.prepared.store import RollupKey

WITHOUT = 0
"""The number of rows without a visitor or session; the others are numbered from 1."""
HashesOf: TypeAlias = Callable[[str, RollupKey], Numbers]
"""The hashes of a column of a stored rollup."""


class ColumnIds(Struct, frozen=True, eq=False):
    """The numbers of one column of several rollups."""

    known: Numbers
    """Hashes by number, in ascending order."""
    further: Numbers
    """Those of the numbers after these."""
    by_part: Sequence[Numbers]
    """For each rollup the numbers by position."""

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


class SharedIds(Struct, frozen=True, eq=False):
    """Numbers by stored rollup, to which those of further rows are added."""

    hashes: Numbers
    """By number, in ascending order."""
    by_part: Mapping[RollupKey, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.hashes.nbytes + sum(each.nbytes for each in self.by_part.values())

    def with_added(self, hashes: Sequence[Numbers]) -> "AddedIds":
        """The numbers of further hashes by position."""
        further = np.concatenate([np.empty(0, np.int64), *hashes])
        order = np.argsort(further)  # found in a tenth of the time in their order
        numbers = np.empty(len(further), np.int64)
        numbers[order] = np.searchsorted(self.hashes, further[order])
        numbers = np.minimum(numbers, len(self.hashes) - 1)
        is_new = self.hashes[numbers] != further
        new, positions = np.unique(further[is_new], return_inverse=True)
        numbers[is_new] = len(self.hashes) + positions
        return AddedIds(new, _split(numbers, hashes))


class AddedIds(Struct, frozen=True, eq=False):
    """The numbers of hashes of rows without a stored rollup."""

    new: Numbers
    """The hashes that no stored rollup has; their numbers come after those of the others."""
    by_part: Sequence[Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.new.nbytes + sum(each.nbytes for each in self.by_part)


def number(hashes: Mapping[RollupKey, Numbers]) -> SharedIds:
    """The numbers of the hashes of stored rollups."""
    everything = np.concatenate([np.array([NO_HASH]), *hashes.values()])
    order = np.argsort(everything)  # in a quarter of the time of a stable one
    ordered = everything[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    numbers = np.empty(len(order), np.uint32)
    numbers[order] = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    by_part = _split(numbers[1:], list(hashes.values()))
    return SharedIds(ordered[is_first], dict(zip(hashes, by_part, strict=True)))


def shared_ids(column: str, rollups: Iterable[RollupKey], hashes: HashesOf) -> SharedIds:
    """The numbering of a column of these rollups."""
    return number({key: hashes(column, key) for key in sorted(rollups)})


def _split(numbers: Numbers, arrays: Sequence[Numbers]) -> Sequence[Numbers]:
    """Pieces as long as these arrays."""
    borders = np.cumsum([len(each) for each in arrays], dtype=np.int64)
    return np.split(numbers.astype(np.uint32), borders[:-1]) if arrays else []


EncodedTexts: TypeAlias = tuple[Numbers, Sequence[str | None]]
"""The number of each row's text, and the texts by number; 0 is NULL."""
TEXT_BYTES = 60
"""Of a text in memory, beside its characters."""


class RollupDictionaries(Struct, frozen=True, eq=False):
    """The texts by number, NULL first, and for each rollup the numbers by its own ones."""

    texts: Sequence[str | None]
    by_part: Sequence[Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory, about, without the texts themselves."""
        return 8 * len(self.texts) + sum(each.nbytes for each in self.by_part)


class SharedDictionary(Struct, frozen=True, eq=False):
    """The texts of stored rollups, in ascending order after NULL."""

    texts: Sequence[str | None]
    by_part: Mapping[RollupKey, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        numbers = sum(each.nbytes for each in self.by_part.values())
        return numbers + TEXT_BYTES * len(self.texts) + sum(map(len, filter(None, self.texts)))

    def of(self, keys: Sequence[RollupKey], further: Sequence[Sequence[str]]) -> RollupDictionaries:
        """Those of some rollups, and of further ones, whose new texts come last."""
        known = [self.by_part[key] for key in keys]
        if not further:
            return RollupDictionaries(self.texts, known)
        numbers = TextCodes(self.texts, sum(map(len, further)))
        own = [np.array([NO_TEXT, *map(numbers.of, texts)], np.int64) for texts in further]
        return RollupDictionaries(numbers.texts, [*known, *map(smallest, own)])


class TextCodes:
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


def shared_dictionary(texts: Mapping[RollupKey, Sequence[str]]) -> SharedDictionary:
    """The texts of stored rollups, from those of each."""
    ordered = encode_texts(list(texts.values()))
    return SharedDictionary(ordered.texts, dict(zip(texts, ordered.by_part, strict=True)))


def encode_texts(of_parts: Sequence[Sequence[str]]) -> RollupDictionaries:
    """The texts of rollups in ascending order."""
    ordered = [None, *sorted(set[str]().union(*of_parts))]
    number = {text: i for i, text in enumerate(ordered)}
    return RollupDictionaries(ordered, [_numbers(texts, number) for texts in of_parts])


def renumbered(numbers: Numbers, texts: Sequence[str | None], known: TextCodes) -> Numbers:
    """The numbers of rows in `known`, to which those of their texts are added that are new."""
    mapping = np.zeros(len(texts), np.int64)
    for i in np.flatnonzero(np.bincount(numbers, minlength=len(texts))).tolist():
        mapping[i] = known.of(texts[i])
    return mapping[numbers]


def in_text_order(numbers: Numbers, texts: Sequence[str | None]) -> EncodedTexts:
    """The numbers of rows and the texts in ascending order; NULL stays the first."""
    order = sorted(range(1, len(texts)), key=lambda i: texts[i] or "")
    mapping = np.zeros(len(texts), np.int64)
    mapping[order] = np.arange(1, len(texts))
    return mapping[numbers], [texts[i] for i in (NO_TEXT, *order)]


def _numbers(texts: Sequence[str], number: dict[str | None, int]) -> Numbers:
    """The number of NULL and of each text."""
    own = [NO_TEXT, *map(number.__getitem__, texts)]
    return np.array(own, np.min_scalar_type(len(number)))


NumbersOf: TypeAlias = Callable[[str], ColumnIds]
"""The numbers of a column of visitors or sessions."""
TextsOf: TypeAlias = Callable[[str, str], RollupDictionaries]
"""The texts of a table and column."""


class RollupsWithIds(Struct, frozen=True, eq=False):
    """Rollups, and what has the same number in all of them; stored ones come first."""

    rollups: Sequence[AnyRollup]
    numbers: NumbersOf
    stored: int
    """The number of stored ones."""
    part_numbers: Sequence[int]
    """The number of each rollup among all known ones; the rest comes after them."""
    shared_dictionary: TextsOf | None = None
    """Texts of rollups; None where they are numbered for each query."""

    def texts(self, table: str, column: str) -> RollupDictionaries:
        """The texts of a column of all rollups."""
        if self.shared_dictionary is not None:
            return self.shared_dictionary(table, column)
        return encode_texts([each.table(table).texts[column] for each in self.rollups])

    def some(self, first: int, end: int) -> "RollupsWithIds":
        """The rollups at some positions."""

        def numbers(column: str) -> ColumnIds:
            of_all = self.numbers(column)
            return structs.replace(of_all, by_part=of_all.by_part[first:end])

        def texts(table: str, column: str) -> RollupDictionaries:
            of_all = self.texts(table, column)
            return RollupDictionaries(of_all.texts, of_all.by_part[first:end])

        stored = min(max(0, self.stored - first), end - first)
        own = self.part_numbers[first:end]
        return RollupsWithIds(self.rollups[first:end], numbers, stored, own, texts)
