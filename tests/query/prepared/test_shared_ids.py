"""Ids and dictionaries that several rollups share: of visitors, of sessions and of texts."""

import numpy as np
import pytest

from query.prepared.rollup import Rollup
from query.prepared.shared_ids import (
    ColumnIds,
    RollupsWithIds,
    TextCodes,
    encode_texts,
    in_text_order,
    number,
    renumbered,
    shared_dictionary,
)
from query.prepared.store import RollupKey
from tests.query.prepared.rollups import part_of

KEYS = [RollupKey("shop", str(i)) for i in range(3)]
HASHES = [np.array(each) for each in ([5, 9, 70], [-1, 9], [70, 3])]


def hashes(*numbers: int) -> dict[RollupKey, np.ndarray]:
    return {KEYS[i]: HASHES[i] for i in numbers}


def test_a_hash_has_one_number_in_all_parts() -> None:
    numbering = number(hashes(0, 1, 2))

    assert numbering.by_part[KEYS[0]].tolist() == [2, 3, 4]
    assert numbering.by_part[KEYS[1]].tolist() == [0, 3]
    assert numbering.by_part[KEYS[2]].tolist() == [4, 1]


def test_further_hashes_continue_the_numbers() -> None:
    numbering = number(hashes(0))

    further = numbering.with_added([np.array([100, -1, 9]), np.array([6, 100])])
    numbers = ColumnIds(numbering.hashes, further.new, further.by_part)

    assert [each.tolist() for each in further.by_part] == [[5, 0, 2], [4, 5]]
    assert numbers.count == 6
    assert numbers.hashes(np.array([5, 4, 0, 2])).tolist() == [100, 6, -1, 9]
    nothing = numbering.with_added([])
    assert (len(nothing.new), nothing.by_part) == (0, [])


ONE, OTHER = RollupKey("shop", "1"), RollupKey("shop", "2")


def test_texts_are_numbered_in_their_order() -> None:
    numbered = encode_texts([["a", "c"], [], ["b", "c"]])

    assert numbered.texts == [None, "a", "b", "c"]
    assert [each.tolist() for each in numbered.by_part] == [[0, 1, 3], [0], [0, 2, 3]]


def test_new_texts_of_further_parts_come_last() -> None:
    known = shared_dictionary({ONE: ["b"], OTHER: ["a", "b"]})

    own = known.of([OTHER], [["0", "b"], ["0", "a"]])

    assert own.texts == [None, "a", "b", "0"]
    assert [each.tolist() for each in own.by_part] == [[0, 1, 2], [0, 3, 2], [0, 3, 1]]
    assert known.of([ONE], []).texts == [None, "a", "b"]


def test_its_size_grows_with_the_texts() -> None:
    assert shared_dictionary({ONE: ["a" * 1000]}).size > 1000


@pytest.mark.parametrize("wanted", [0, 1_000])
def test_rows_have_the_numbers_of_known_texts_and_only_their_own_are_added(wanted: int) -> None:
    known = TextCodes([None, "b", "d"], wanted)

    found = renumbered(np.array([3, 0, 1, 3, 4, 5]), [None, "b", "unused", "c", "a", "e"], known)

    assert found.tolist() == [3, 0, 1, 3, 4, 5]
    assert known.texts == [None, "b", "d", "c", "a", "e"]
    assert [known.of(each) for each in (None, "b", "d", "e", "f")] == [0, 1, 2, 5, 6]


def test_texts_are_put_in_order() -> None:
    numbers, texts = in_text_order(np.array([0, 1, 2, 3, 1]), [None, "c", "", "b"])

    assert texts == [None, "", "b", "c"]
    assert numbers.tolist() == [0, 3, 1, 2, 3]


def paths(*texts: str) -> Rollup:
    """Page views of these paths, each by a visitor of its own."""
    numbers = list(range(len(texts)))
    return part_of("pages", quarter=[7] * len(texts), visitor=numbers, of_path=list(texts))


PARTS = (paths("/a", "/c"), paths("/b"), paths("/c", "/d"))
VISITORS = ColumnIds(np.arange(9), np.empty(0, np.int64), [np.array([i]) for i in range(3)])


def test_texts_are_numbered_over_all_parts() -> None:
    numbered = RollupsWithIds(PARTS, lambda _column: VISITORS, 2, range(3))

    some = numbered.some(1, 3)

    assert (len(some.rollups), some.stored, [*some.part_numbers]) == (2, 1, [1, 2])
    assert some.texts("pages", "of_path").texts == [None, "/a", "/b", "/c", "/d"]
    assert [each.tolist() for each in some.texts("pages", "of_path").by_part] == [[0, 2], [0, 3, 4]]
    assert [each.tolist() for each in some.numbers("visitor").by_part] == [[1], [2]]


def test_the_rest_has_no_stored_part() -> None:
    numbered = RollupsWithIds(PARTS, lambda _column: VISITORS, 2, range(3))

    assert numbered.some(2, 3).stored == 0
    assert numbered.some(0, 2).stored == 2
