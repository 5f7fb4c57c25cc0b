"""The same text has the same number in all parts."""

import numpy as np

from query.prepared.part_folder import PartKey
from query.prepared.part_texts import known_texts, number_texts, renumbered

ONE, OTHER = PartKey("shop", "1"), PartKey("shop", "2")


def test_texts_are_numbered_in_their_order() -> None:
    numbered = number_texts([["a", "c"], [], ["b", "c"]])

    assert numbered.texts == [None, "a", "b", "c"]
    assert [each.tolist() for each in numbered.by_part] == [[0, 1, 3], [0], [0, 2, 3]]


def test_new_texts_of_further_parts_come_last() -> None:
    known = known_texts({ONE: ["b"], OTHER: ["a", "b"]})

    own = known.of([OTHER], [["0", "b"], ["0", "a"]])

    assert own.texts == [None, "a", "b", "0"]
    assert [each.tolist() for each in own.by_part] == [[0, 1, 2], [0, 3, 2], [0, 3, 1]]
    assert known.of([ONE], []).texts == [None, "a", "b"]


def test_its_size_grows_with_the_texts() -> None:
    assert known_texts({ONE: ["a" * 1000]}).size > 1000


def test_rows_have_the_numbers_of_known_texts_and_only_their_own_are_added() -> None:
    known: dict[str | None, int] = {None: 0, "b": 1}

    found = renumbered(np.array([3, 0, 1, 3]), [None, "b", "unused", "c"], known)

    assert found.tolist() == [2, 0, 1, 2]
    assert [*known] == [None, "b", "c"]
