"""Numbers of hashes that several parts have in common."""

import numpy as np

from query.prepared.byte_cache import ByteCache
from query.prepared.numbering import (
    MOST_TIMES,
    Numbering,
    forget_parts,
    known_numbering,
    known_parts,
    number,
)
from query.prepared.part_folder import PartKey

KEYS = [PartKey("shop", str(i)) for i in range(6)]
HASHES = [np.array(each) for each in ([5, 9, 70], [-1, 9], [70, 3], [5], [2**62], [8])]


def hashes(*numbers: int) -> dict[PartKey, np.ndarray]:
    return {KEYS[i]: HASHES[i] for i in numbers}


def test_a_hash_has_one_number_in_all_parts() -> None:
    numbering = number(hashes(0, 1, 2))

    assert numbering.by_part[KEYS[0]].tolist() == [2, 3, 4]
    assert numbering.by_part[KEYS[1]].tolist() == [0, 3]
    assert numbering.by_part[KEYS[2]].tolist() == [4, 1]


def test_further_hashes_continue_the_numbers() -> None:
    numbering = number(hashes(0))

    count, further = numbering.with_further([np.array([100, -1, 9]), np.array([6, 100])])

    assert [each.tolist() for each in further] == [[5, 0, 2], [4, 5]]
    assert count == 6
    assert numbering.with_further([]) == (4, [])


def test_a_numbering_is_made_once() -> None:
    memory, both = ByteCache(2**20), frozenset(KEYS[:2])
    asked = []

    def known(column: str) -> Numbering:
        def hashes_of(column: str, key: PartKey) -> np.ndarray:
            asked.append((column, key))
            return HASHES[int(key.data_file)]

        return known_numbering(memory, column, both, hashes_of)

    assert known("visitor") is known("visitor")
    assert known("session_key") is not known("visitor")
    assert asked == [(column, key) for column in ("visitor", "session_key") for key in KEYS[:2]]


def test_a_set_of_more_parts_is_used_again() -> None:
    memory = ByteCache(2**20)

    def known(*numbers: int, stored: str = "012345") -> list[int]:
        wanted = frozenset(KEYS[i] for i in numbers)
        return sorted(int(key.data_file) for key in known_parts(memory, wanted, stored))

    assert known(0, 1, 2, 3, 4) == [0, 1, 2, 3, 4]
    assert known(1, 2) == [0, 1, 2, 3, 4]
    assert known(1, 2, stored="1235") == [1, 2]
    assert known(1, 5) == [1, 5]
    assert MOST_TIMES * 1 < 5
    assert known(3) == [3]
    assert known(2, 3, 4) == [0, 1, 2, 3, 4]
    forget_parts(memory, "shop")
    assert known(2, 3) == [2, 3]
