"""A repeated column reads like the list of its rows, whatever its values are."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.rows import repeated_column
from stream.rows.repeated_column import (
    RepeatedColumn,
    combined,
    constant_column,
    distinct,
    distinct_strings,
    mapped,
)

texts = st.lists(st.none() | st.sampled_from(["", "a", "b", "ä"]))


def repeated(values: list[Any], *numbers: int) -> RepeatedColumn:
    return RepeatedColumn(values, np.array(numbers, np.int32))


@pytest.mark.parametrize("distinct", [distinct, distinct_strings])
@given(column=texts)
def test_distinct_values_are_there_once_and_rows_as_before(
    distinct: Callable[[Any], RepeatedColumn], column: list[str | None]
) -> None:
    found = distinct(column)

    assert list(found) == column
    assert [found[index] for index in range(len(found))] == column
    assert max(Counter(found.values).values(), default=1) == 1
    assert distinct(found) is found


@given(texts)
def test_arrow_has_the_same_strings_each_once(column: list[str | None]) -> None:
    # Each value twice, as where two senders have the same browser.
    numbers = [2 * number + index % 2 for index, number in enumerate(distinct(column).numbers)]
    values = [value for value in distinct(column).values for _ in range(2)]

    found = repeated(values, *numbers).array(pa.string())

    assert found.to_pylist() == column
    if pa.types.is_dictionary(found.type):
        assert max(Counter(found.dictionary.to_pylist()).values(), default=1) == 1


def test_other_types_are_no_dictionaries() -> None:
    found = repeated([5, None, 7], 2, 1, 0, 2).array(pa.int64())

    assert found.equals(pa.array([7, None, 5, 7], pa.int64()))
    assert constant_column(None, 2).array(pa.string()).equals(pa.nulls(2, pa.string()))


def test_a_function_is_called_once_for_each_value() -> None:
    asked: list[str] = []

    def upper(value: str) -> str:
        asked.append(value)
        return value.upper()

    assert mapped(upper, repeated(["a", "b"], 1, 0, 1)) == ["B", "A", "B"]
    assert asked == ["a", "b"]
    assert mapped(upper, ["a", "a"]) == ["A", "A"]
    assert asked == ["a", "b", "a", "a"]


@pytest.mark.parametrize("table_size", [1_000, 1])
def test_combined_columns_have_a_tuple_for_each_row(
    table_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_column, "TABLE_SIZE", table_size)
    left, right = repeated(["x", "y", "x"], 0, 1, 2, 1), [None, "b", None, "c"]

    found = combined(left, right, constant_column(1, 4))

    assert found == [("x", None, 1), ("y", "b", 1), ("x", None, 1), ("y", "c", 1)]
    assert len(found.values) == 3
    assert combined([], []) == []


def test_a_part_of_a_column_and_its_reduction_read_the_same() -> None:
    column = repeated(["a", "b", "a"], 0, 1, 2, 2)

    assert column[1:3] == ["b", "a"]
    assert column.reduced() == column == ["a", "b", "a", "a"]
    assert column.reduced().values == ["a", "b"]
    assert column != ["a"]
    assert "b" in column


def test_values_that_arrow_refuses_as_strings_are_distinct_too() -> None:
    column = ["a", "\ud800", "a", None]  # half of a character

    assert list(distinct_strings(column)) == column
    assert distinct_strings(column).values == ["a", "\ud800", None]


def test_rows_with_a_wanted_value_are_found() -> None:
    column = repeated(["a", None, "b"], 2, 1, 0, 2)

    assert column.where(bool).tolist() == [True, False, True, True]
    assert column.where({"b"}.__contains__).tolist() == [True, False, False, True]
    assert distinct([]).where(bool).tolist() == []
