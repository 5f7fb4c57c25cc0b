"""Numbers of hashes that several parts have in common."""

import numpy as np

from query.prepared.numbering import ColumnNumbers, number
from query.prepared.part_folder import PartKey

KEYS = [PartKey("shop", str(i)) for i in range(3)]
HASHES = [np.array(each) for each in ([5, 9, 70], [-1, 9], [70, 3])]


def hashes(*numbers: int) -> dict[PartKey, np.ndarray]:
    return {KEYS[i]: HASHES[i] for i in numbers}


def test_a_hash_has_one_number_in_all_parts() -> None:
    numbering = number(hashes(0, 1, 2))

    assert numbering.by_part[KEYS[0]].tolist() == [2, 3, 4]
    assert numbering.by_part[KEYS[1]].tolist() == [0, 3]
    assert numbering.by_part[KEYS[2]].tolist() == [4, 1]


def test_further_hashes_continue_the_numbers() -> None:
    numbering = number(hashes(0))

    further = numbering.with_further([np.array([100, -1, 9]), np.array([6, 100])])
    numbers = ColumnNumbers(numbering.hashes, further.new, further.by_part)

    assert [each.tolist() for each in further.by_part] == [[5, 0, 2], [4, 5]]
    assert numbers.count == 6
    assert numbers.hashes(np.array([5, 4, 0, 2])).tolist() == [100, 6, -1, 9]
    nothing = numbering.with_further([])
    assert (len(nothing.new), nothing.by_part) == (0, [])
