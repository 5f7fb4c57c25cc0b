"""The same text has the same number in all parts."""

from query.prepared.part_folder import PartKey
from query.prepared.part_texts import known_texts, number_texts

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
