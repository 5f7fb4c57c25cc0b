"""Joined rows have the values of their parts, and one dictionary for each column."""

import pyarrow as pa
import pytest

from stream.maintenance.dictionaries import STRINGS, joined, row_schema

PARTS: list[list[str | None]] = [["b", None, "a", "b"], [None, None], ["c", "a", "é"]]


def tables() -> list[pa.Table]:
    return [
        pa.table({"s": pa.array(part, STRINGS), "n": range(len(part))})
        for part in PARTS
    ]  # fmt: skip


@pytest.mark.parametrize("only_used", [False, True])
def test_joined_rows_are_those_of_the_parts_and_the_parts_are_given_up(only_used: bool) -> None:
    parts = tables()

    found = joined(parts, only_used=only_used)

    assert parts == []
    assert found["s"].to_pylist() == [value for part in PARTS for value in part]
    assert found["n"].to_pylist() == [0, 1, 2, 3, 0, 1, 0, 1, 2]
    assert [column.num_chunks for column in found.columns] == [1, 1]
    found.validate(full=True)


def test_dictionaries_have_only_values_that_occur_in_that_order() -> None:
    whole = joined(tables())

    found = joined([whole.take([8, 0, 1, 0, 8, 4])], only_used=True)

    values = found["s"].chunk(0)
    assert values.dictionary.to_pylist() == ["é", "b"]
    assert values.to_pylist() == ["é", "b", None, "b", "é", None]
    # A slice that begins with NULL, and columns of NULL only.
    assert joined([whole.slice(1, 2)], only_used=True)["s"].to_pylist() == [None, "a"]
    assert joined([whole.slice(4, 2)], only_used=True)["s"].to_pylist() == [None, None]
    empty = pa.table({"s": pa.nulls(2, STRINGS)})
    assert joined([empty], only_used=True)["s"].to_pylist() == [None, None]


def test_strings_have_dictionaries_but_for_ids_that_all_differ() -> None:
    names = pa.schema([("event_id", pa.string()), ("path", pa.string()), ("seq", pa.int32())])

    assert row_schema(names).types == [pa.string(), STRINGS, pa.int32()]
