"""Keys of columns, held against the tuples that they stand for."""

import numpy as np
import pytest

from query.prepared.groups_index import KEY_BITS
from query.prepared.page_paths import number_distinct, pack_columns

ROWS = 3_000


def some_columns(seed: int, count: int, most: int) -> list[np.ndarray]:
    chance = np.random.default_rng(seed)
    return [chance.integers(0, most, ROWS) * chance.integers(0, 2, ROWS) for _ in range(count)]


@pytest.mark.parametrize("most", [1, 2, 5, 2**13, 2**32])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("bits", [KEY_BITS, 20])
def test_keys_have_the_values_of_columns_and_tell_them_apart(
    most: int, count: int, bits: int
) -> None:
    columns = some_columns(most % 101 + count, count, most)
    packed = pack_columns(iter(columns), ROWS).within(bits)

    assert packed.keys.min() >= 0
    assert int(packed.keys.max()).bit_length() <= packed.bits <= bits
    own = packed.columns(packed.keys)
    assert all((a == b).all() for a, b in zip(own, columns, strict=True))
    rows = list(zip(*columns, strict=True))
    assert len({*packed.keys.tolist()}) == len({*rows})


def test_no_rows_have_no_keys() -> None:
    packed = pack_columns([np.zeros(0, np.int64)] * 3, 0)

    assert [each.tolist() for each in packed.within(0).columns(packed.keys)] == [[], [], []]


def test_distinct_keys_are_numbered() -> None:
    found, numbers = number_distinct(np.array([9, 7, 9, 2**62]))

    assert found[numbers].tolist() == [9, 7, 9, 2**62]
    assert len(found) == 3
