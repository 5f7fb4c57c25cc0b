"""The same text has the same number in all parts."""

import numpy as np
import pytest

from query.prepared.part_folder import PartKey
from query.prepared.part_texts import (
    TextNumbers,
    in_text_order,
    known_texts,
    number_texts,
    renumbered,
)

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


@pytest.mark.parametrize("wanted", [0, 1_000])
def test_rows_have_the_numbers_of_known_texts_and_only_their_own_are_added(wanted: int) -> None:
    known = TextNumbers([None, "b", "d"], wanted)

    found = renumbered(np.array([3, 0, 1, 3, 4, 5]), [None, "b", "unused", "c", "a", "e"], known)

    assert found.tolist() == [3, 0, 1, 3, 4, 5]
    assert known.texts == [None, "b", "d", "c", "a", "e"]
    assert [known.of(each) for each in (None, "b", "d", "e", "f")] == [0, 1, 2, 5, 6]


def test_texts_are_put_in_order() -> None:
    numbers, texts = in_text_order(np.array([0, 1, 2, 3, 1]), [None, "c", "", "b"])

    assert texts == [None, "", "b", "c"]
    assert numbers.tolist() == [0, 3, 1, 2, 3]
