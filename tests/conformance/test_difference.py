"""What counts as the same answer."""

import pytest

from tests.conformance.difference import difference


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([200, {"a": [1, None, "x"]}], [200, {"a": [1, None, "x"]}]),
        ({"mean": 0.1 + 0.2}, {"mean": 0.3}),
        ({"sum": 1e100}, {"sum": 1e100 * (1 + 1e-12)}),
    ],
)
def test_the_same(expected: object, found: object) -> None:
    assert difference(expected, found) is None


@pytest.mark.parametrize(
    ("expected", "found", "at"),
    [
        ([{"n": 1}, {"n": 2}], [{"n": 1}, {"n": 3}], "[1].n: 2 and 3"),
        ([1], [1, 2], ": 1 and 2 long"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ": ['a', 'b'] and ['b', 'a']"),
        ({"n": 1}, {"n": 1.0}, ".n: 1 and 1.0"),
        ({"n": 1}, {"n": True}, ".n: 1 and True"),
        ({"mean": 1.0}, {"mean": 1.00001}, ".mean: 1.0 and 1.00001"),
        ({"text": None}, {"text": ""}, ".text: None and ''"),
    ],
)
def test_a_difference_is_named(expected: object, found: object, at: str) -> None:
    assert difference(expected, found) == at
