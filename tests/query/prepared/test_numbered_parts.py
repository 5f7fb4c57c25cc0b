"""Some of several parts keep the numbers that they have among all."""

import numpy as np

from query.prepared.numbered_parts import NumberedParts
from query.prepared.numbering import ColumnNumbers
from query.prepared.part import Part
from tests.query.prepared.parts import part_of


def paths(*texts: str) -> Part:
    """Page views of these paths, each by a visitor of its own."""
    numbers = list(range(len(texts)))
    return part_of("pages", quarter=[7] * len(texts), visitor=numbers, of_path=list(texts))


PARTS = (paths("/a", "/c"), paths("/b"), paths("/c", "/d"))
VISITORS = ColumnNumbers(np.arange(9), np.empty(0, np.int64), [np.array([i]) for i in range(3)])


def test_texts_are_numbered_over_all_parts() -> None:
    numbered = NumberedParts(PARTS, lambda _column: VISITORS, 2, range(3))

    some = numbered.some(1, 3)

    assert (len(some.parts), some.stored, [*some.part_numbers]) == (2, 1, [1, 2])
    assert some.texts("pages", "of_path").texts == [None, "/a", "/b", "/c", "/d"]
    assert [each.tolist() for each in some.texts("pages", "of_path").by_part] == [[0, 2], [0, 3, 4]]
    assert [each.tolist() for each in some.numbers("visitor").by_part] == [[1], [2]]


def test_the_rest_has_no_stored_part() -> None:
    numbered = NumberedParts(PARTS, lambda _column: VISITORS, 2, range(3))

    assert numbered.some(2, 3).stored == 0
    assert numbered.some(0, 2).stored == 2
