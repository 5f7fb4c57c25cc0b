"""A filter that says for sure that an id is new, and of one in a hundred others that it may be.

Four bits in one word of 64 for each id (a blocked Bloom filter), so that asking for an id touches
the memory once. Most ids are new; without the filter each of them would be searched for.
"""

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

IDS_PER_WORD = 8
"""At most; at half of that one in two hundred passes, at this one in thirty."""

_ONE, _LOW = np.uint64(1), np.uint64(63)
_SHIFTS = np.uint64(0), np.uint64(6), np.uint64(12), np.uint64(18)
_ID_BITS = 63


class HashProbe:
    """Ids with what is asked of every filter, worked out once."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.bits = np.zeros_like(ids)
        for shift in _SHIFTS:
            self.bits |= _ONE << ((ids >> shift) & _LOW)


class BloomFilter:
    """Which ids may have been put in."""

    def __init__(self, count: int) -> None:
        """Room for so many ids."""
        size = max(6, (count // IDS_PER_WORD).bit_length())
        self._words = np.zeros(1 << size, np.uint64)
        self._is_spilled = False
        # By the first bits, so that ids that are sorted fill the words one after the other.
        self._shift = np.uint64(_ID_BITS - size)

    @property
    def capacity(self) -> int:
        """How many ids it takes before it lets too many pass."""
        return len(self._words) * IDS_PER_WORD

    @property
    def nbytes(self) -> int:
        """Memory that it takes; what rests on the disk takes none."""
        return 0 if self._is_spilled else self._words.nbytes

    def spill(self, folder: Path) -> None:
        """Go on in a file without a name: gone with the process, whatever ends it."""
        with tempfile.TemporaryFile(dir=folder) as file:
            self._words.tofile(file)
            file.flush()
            self._words = np.asarray(np.memmap(file, np.uint64, "r+"))
        self._is_spilled = True

    def add(self, ids: Ids) -> None:
        probe = HashProbe(ids)
        np.bitwise_or.at(self._words, ids >> self._shift, probe.bits)

    def candidates(self, probe: HashProbe) -> npt.NDArray[np.intp]:
        """Places of the ids that may have been put in."""
        words = self._words.take(probe.ids >> self._shift)
        words &= probe.bits
        return np.flatnonzero(words == probe.bits)
