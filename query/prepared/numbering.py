"""Numbering: the same numbers for the visitors, or for the sessions, of several parts.

In a part they are positions among its own hashes. What is numbered stays in memory, so that other
time ranges, and rows without a part, need no further sort of all hashes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.byte_cache import ByteCache
from query.prepared.part_folder import PartKey
from query.prepared.part_tables import NO_HASH

WITHOUT = 0
"""The number of rows without a visitor or session; the others are numbered from 1."""
MOST_KNOWN = 8
"""Sets of parts of one website that are looked at."""
KEY_BYTES = 100
"""Of the key of a part in memory, about."""
MOST_TIMES = 4
"""Parts of a set by those asked for: small ranges would take time for all of its rows."""
HashesOf: TypeAlias = Callable[[str, PartKey], Numbers]
"""The hashes of a column of a stored part."""


class ColumnNumbers(Struct, frozen=True, eq=False):
    """The numbers of one column of several parts."""

    count: int
    """Numbers that may occur, that of rows without included."""
    by_part: Sequence[Numbers]
    """For each part the numbers by position."""


class Numbering(Struct, frozen=True, eq=False):
    """Numbers by stored part, to which those of further rows are added."""

    hashes: Numbers
    """By number, in ascending order."""
    by_part: Mapping[PartKey, Numbers]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.hashes.nbytes + sum(each.nbytes for each in self.by_part.values())

    def with_further(self, hashes: Sequence[Numbers]) -> tuple[int, Sequence[Numbers]]:
        """Numbers that occur with those of further hashes, and the latter by position."""
        further = np.concatenate([np.empty(0, np.int64), *hashes])
        numbers = np.minimum(np.searchsorted(self.hashes, further), len(self.hashes) - 1)
        is_new = self.hashes[numbers] != further
        new, positions = np.unique(further[is_new], return_inverse=True)
        numbers[is_new] = len(self.hashes) + positions
        return len(self.hashes) + len(new), _split(numbers, hashes)


def number(hashes: Mapping[PartKey, Numbers]) -> Numbering:
    """The numbers of the hashes of stored parts."""
    everything = np.concatenate([np.array([NO_HASH]), *hashes.values()])
    order = np.argsort(everything, kind="stable")  # merges what is in order within its part
    ordered = everything[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    numbers = np.empty(len(order), np.uint32)
    numbers[order] = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    by_part = _split(numbers[1:], list(hashes.values()))
    return Numbering(ordered[is_first], dict(zip(hashes, by_part, strict=True)))


def known_numbering(
    memory: ByteCache, column: str, parts: frozenset[PartKey], hashes: HashesOf
) -> Numbering:
    """The numbering of these parts, from memory when it is there."""
    numbering: Numbering = memory.made(
        ("numbering", column, parts),
        lambda: number({key: hashes(column, key) for key in sorted(parts)}),
    )
    return numbering


def known_parts(
    memory: ByteCache, wanted: frozenset[PartKey], stored: Collection[str]
) -> frozenset[PartKey]:
    """A set with these parts: the last used one that has more of them, but not too many.

    All its parts are of stored data files: what is made of a set has the rows of all of them.
    """
    [website] = {key.website for key in wanted}
    known: Sequence[frozenset[PartKey]] = memory.get(("sets", website)) or ()
    for parts in known:
        is_useful = wanted <= parts and len(parts) <= MOST_TIMES * len(wanted)
        if is_useful and all(key.data_file in stored for key in parts):
            return parts
    recent = [wanted, *known][:MOST_KNOWN]
    memory.put(("sets", website), recent, KEY_BYTES * sum(map(len, recent)))
    return wanted


def forget_parts(memory: ByteCache, website: str) -> None:
    """Forget all sets of a website, one of which has a part that is gone."""
    memory.put(("sets", website), (), KEY_BYTES)


def _split(numbers: Numbers, arrays: Sequence[Numbers]) -> Sequence[Numbers]:
    """Pieces as long as these arrays."""
    borders = np.cumsum([len(each) for each in arrays], dtype=np.int64)
    return np.split(numbers.astype(np.uint32), borders[:-1]) if arrays else []
