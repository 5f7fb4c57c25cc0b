"""Filters on the texts of prepared rows."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from query.engine.engine import Row
from query.prepared.text_filters import (
    MAX_EVALUATIONS,
    CostlyFilters,
    keeps_all,
    kept_shares,
    rows_kept,
    rows_that_meet,
)
from query.request.filters import Filter
from tests.query.prepared.rollups import join, part_of

ROWS = [("Berlin", "DE", 9, 4, 4, 10), ("Rom", "IT", 5, 3, 3, 10), ("Oslo", "", 4, 3, 3, 10)]


def kept(*filters: dict[str, Any], fields: Sequence[str] = ("city", "country")) -> Any:
    positions = {field: i for i, field in enumerate(fields)}
    keeps = keeps_all(msgspec.convert(filters, list[Filter]), positions)
    return "unknown" if keeps is None else kept_shares(ROWS, 2, keeps)


def test_the_share_is_that_among_the_rows_that_remain() -> None:
    assert kept({"field": "country", "operator": "in", "value": ["DE", "IT"]}) == [
        ("Berlin", "DE", 9, 4, 4, 7),
        ("Rom", "IT", 5, 3, 3, 7),
    ]


@pytest.mark.parametrize(
    ("operator", "value", "cities"),
    [
        ("eq", "Rom", ["Rom"]),
        ("ne", "Rom", ["Berlin", "Oslo"]),
        ("gt", "Oslo", ["Rom"]),
        ("gte", "Oslo", ["Rom", "Oslo"]),
        ("lt", "Oslo", ["Berlin"]),
        ("lte", "Oslo", ["Berlin", "Oslo"]),
        ("not_in", ["Rom", "Oslo"], ["Berlin"]),
        ("contains", "o", ["Rom", "Oslo"]),
        ("not_contains", "o", ["Berlin"]),
        ("starts_with", "R", ["Rom"]),
        ("ends_with", "o", ["Oslo"]),
    ],
)
def test_each_operator(operator: str, value: Any, cities: list[str]) -> None:
    rows: Sequence[Row] = kept({"field": "city", "operator": operator, "value": value})

    assert [row[0] for row in rows] == cities


def test_groups_and_their_negation() -> None:
    rome, berlin = ({"field": "city", "op": "eq", "value": city} for city in ("Rom", "Berlin"))

    assert [row[0] for row in kept({"or": [rome, berlin]})] == ["Berlin", "Rom"]
    assert [row[0] for row in kept({"not": {"or": [rome, berlin]}})] == ["Oslo"]
    assert kept({"and": [rome, berlin]}) == []
    assert kept(rome, berlin) == []


def test_a_second_text_that_is_empty_may_be_null() -> None:
    assert kept({"field": "country", "operator": "is_null"}) is None
    assert kept({"field": "country", "operator": "eq", "value": ""}) is None
    assert kept({"field": "country", "operator": "ne", "value": "DE"}) is not None


def test_fields_and_conditions_that_are_not_of_the_rows() -> None:
    berlin = {"field": "city", "operator": "eq", "value": "Berlin"}

    assert kept(berlin, {"field": "path", "operator": "eq", "value": "/"}) == "unknown"
    assert kept({"or": [berlin, {"not": {"field": "path", "operator": "is_null"}}]}) == "unknown"
    assert kept(berlin, {"has_done": {"event": "signup"}}) == "unknown"


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_rows_of_a_table_that_meet_filters(stored: int | None) -> None:
    parts = [
        part_of("facts", quarter=[5, 5, 6], visitor=[1, 2, 3], of_country=["DE", None, ""]),
        part_of("facts", quarter=[5, 9], visitor=[4, 5], of_country=["FR", "DE"]),
    ]
    joined = join(parts, 5, 9, stored=stored)

    kept = rows_that_meet(joined, "facts", [Filter(field="country", operator="ne", value="DE")])
    own = joined.of_positions("facts", np.flatnonzero(kept))

    numbers, texts = own.text_numbers("facts", "of_country")
    assert [texts[i] for i in numbers.tolist()] == [None, "", "FR"]
    assert own.columns("facts", "quarter")["quarter"].tolist() == [5, 6, 5]


def test_conditions_on_very_many_texts_are_left_to_stored_rows() -> None:
    texts = [f"t{i}" for i in range(MAX_EVALUATIONS // 2)]
    columns = {"path": (np.arange(len(texts)), texts)}
    one = Filter(field="path", operator="ne", value="t7")
    two = [Filter(all_of=[one, Filter(none_of=one)])]

    assert rows_kept(columns, len(texts), [one]).sum() == len(texts) - 1
    assert not rows_kept(columns, len(texts), two).any()
    with pytest.raises(CostlyFilters):
        rows_kept(columns, len(texts), [one, Filter(any_of=[one, one])])


def test_groups_of_conditions_on_several_columns() -> None:
    columns = {
        "city": (np.array([0, 1, 2, 2]), [None, "Rom", "Oslo"]),
        "country": (np.array([1, 0, 1, 2]), [None, "NO", "IT"]),
    }
    rome = Filter(field="city", operator="eq", value="Rom")
    norway = Filter(field="country", operator="eq", value="NO")

    assert rows_kept(columns, 4, [Filter(any_of=[rome, norway])]).tolist() == [1, 1, 1, 0]
    assert rows_kept(columns, 4, [Filter(none_of=rome), norway]).tolist() == [1, 0, 1, 0]
    assert rows_kept(columns, 4, [Filter(all_of=[rome, norway])]).tolist() == [0, 0, 0, 0]
