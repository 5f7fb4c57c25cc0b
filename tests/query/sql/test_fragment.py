"""Fragments: conditions joined with their values."""

import pytest

from query.sql.fragment import Fragment, all_of, merge_values


def test_conditions_are_joined_with_their_values() -> None:
    joined = all_of(Fragment("a = $x", {"x": 1}), Fragment(), Fragment("b = $y", {"y": 2}))

    assert joined == Fragment("a = $x AND b = $y", {"x": 1, "y": 2})


def test_no_condition_holds_for_every_row() -> None:
    assert all_of(Fragment(), Fragment()) == Fragment()


def test_a_value_name_that_is_used_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="value names used twice"):
        merge_values({"a": 1}, {"a": 2})


def test_a_prefix_renames_the_values_of_a_fragment() -> None:
    fragment = Fragment("ms + $offset", {"offset": 1})

    assert merge_values(fragment.with_prefix("a_").values, fragment.with_prefix("b_").values) == {
        "a_offset": 1,
        "b_offset": 1,
    }
    assert fragment.with_prefix("a_").text == "ms + $a_offset"
