"""Rows of the sessions whose places meet filters, also of visitors without a session."""

from collections.abc import Sequence
from random import Random

import pytest

from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import FACTS, OTHER_FACTS, PAGES
from query.prepared.rollup_view import RollupView
from query.prepared.session_filters import is_of_attributes, rows_of_attributes
from query.request.filter_struct import Filter
from tests.query.prepared.rollups import Values, column_rows, join

NOBODY = -1
COUNTRY = Filter(field="country", operator="eq", value="DE")
NO_COUNTRY = Filter(field="country", operator="is_null")
Place = tuple[int, int, int, str | None]
"""Quarter, visitor, session and country."""


def rollup(
    views: Sequence[Place], others: Sequence[Place] = (), *, numbered: bool = True
) -> Rollup:
    """Page views of a path named after their visitor, and other rows."""
    of_owners: dict[tuple[int, int, int], list[str | None]] = {}
    for quarter, visitor, session, country in [*views, *others]:
        known = of_owners.setdefault((quarter, visitor, session), [])
        known.extend({country} - {*known})

    def columns_of(rows: Sequence[Place]) -> dict[str, Values]:
        places = [of_owners[row[:3]].index(row[3]) if numbered else 0 for row in rows]
        return columns(rows) | {"place": places}

    of_views = columns_of(views)
    of_views["of_path"] = [f"/{visitor}" for _, visitor, _, _ in views]
    facts = {FACTS.name: columns_of(views), OTHER_FACTS.name: columns_of(others)}
    tables = facts | {PAGES.name: of_views}
    return make_rollup({name: column_rows(each) for name, each in tables.items()})


def columns(rows: Sequence[Place]) -> dict[str, Values]:
    return {
        "quarter": [row[0] for row in rows],
        "visitor": [row[1] for row in rows],
        "session_key": [row[2] for row in rows],
        "of_country": [row[3] for row in rows],
    }


def paths(rows: RollupView | None) -> list[str | None] | None:
    if rows is None:
        return None
    numbers, texts = rows.text_numbers(PAGES.name, "of_path")
    return sorted(texts[i] or "" for i in numbers.tolist())


PARTS = (
    rollup([(10, 1, 11, "DE"), (10, 2, 12, "FR"), (10, 8, NOBODY, "DE")], [(11, 1, 11, "DE")]),
    rollup([(12, 1, 11, "DE"), (12, 3, 13, None), (12, 8, NOBODY, "FR")]),
)


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_rows_of_a_country(stored: int | None) -> None:
    joined = join(PARTS, 10, 20, stored=stored)
    assert paths(rows_of_attributes(joined, [COUNTRY])) == ["/1", "/1", "/8"]
    assert paths(rows_of_attributes(joined, [NO_COUNTRY])) == ["/3"]
    assert paths(rows_of_attributes(joined, [COUNTRY, NO_COUNTRY])) == []


@pytest.mark.parametrize("stored", [None, 1])
def test_a_session_of_several_countries_is_kept_by_its_rows(stored: int | None) -> None:
    moved = rollup([(10, 1, 11, "DE"), (11, 1, 11, "FR"), (11, 2, 12, "DE")])
    later = rollup([(11, 1, 11, "DE"), (11, 2, 12, "DE")])

    def kept(first: int, filter_: Filter) -> list[str | None] | None:
        return paths(rows_of_attributes(join([moved, later], first, 20, stored=stored), [filter_]))

    assert kept(10, COUNTRY) == ["/1", "/1", "/2", "/2"]
    assert kept(11, COUNTRY) == ["/1", "/2", "/2"]
    assert kept(10, Filter(none_of=COUNTRY)) == ["/1"]
    assert kept(10, NO_COUNTRY) == []


def test_other_rows_than_page_views_count() -> None:
    moved = rollup([(10, 1, 11, "DE")], [(10, 1, 11, "FR")])
    assert paths(rows_of_attributes(join([moved], 10, 20), [COUNTRY])) == ["/1"]
    assert paths(rows_of_attributes(join([moved], 10, 20), [Filter(none_of=COUNTRY)])) == []


ONE_QUARTER: list[Place] = [(10, 8, NOBODY, "DE"), (10, 8, NOBODY, "FR"), (10, 1, 11, "DE")]


def test_rows_of_one_visitor_and_quarter_that_differ_have_numbers() -> None:
    differing = rollup(ONE_QUARTER)
    assert paths(rows_of_attributes(join([differing], 10, 20), [COUNTRY])) == ["/1", "/8"]


@pytest.mark.parametrize("stored", [None, 1])
def test_rows_of_one_number_that_differ_are_not_told(stored: int | None) -> None:
    differing = rollup(ONE_QUARTER, numbered=False)
    assert rows_of_attributes(join([differing], 10, 20, stored=stored), [COUNTRY]) is None
    assert paths(rows_of_attributes(join([differing], 10, 20), [NO_COUNTRY])) == []


@pytest.mark.parametrize("stored", [1, 2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_an_index_chooses_what_the_rows_do(seed: int, stored: int) -> None:
    chance = Random(seed)
    several = chance.choice((0, 1, 30))
    rows = [random_place(chance, several) for _ in range(60)]
    rollups = [rollup(rows[i::6], rows[i + 3 :: 6]) for i in range(3)]
    filters = chance.choice(([COUNTRY], [NO_COUNTRY], [Filter(none_of=COUNTRY)]))
    for first, end in ((10, 20), (11, 13), (13, 14)):
        by_rows = rows_of_attributes(join(rollups, first, end), filters)
        by_index = rows_of_attributes(join(rollups, first, end, stored=stored), filters)
        assert paths(by_index) == paths(by_rows) is not None


def random_place(chance: Random, several: int) -> Place:
    """A row, which is in the country of its session with some exceptions in a hundred."""
    session = chance.choice((NOBODY, *range(8)))
    visitor = chance.randrange(8) if session == NOBODY else session // 2
    own: tuple[str | None, ...] = ("DE", "FR", None)
    country = own[(visitor if session == NOBODY else session) % 3]
    moved = chance.randrange(100) < several
    return chance.randrange(10, 15), visitor, session, chance.choice(own) if moved else country


def test_which_filters_are_of_places() -> None:
    path = Filter(field="path", operator="eq", value="/")
    assert is_of_attributes(COUNTRY)
    assert is_of_attributes(Filter(any_of=[COUNTRY, NO_COUNTRY]))
    assert not is_of_attributes(path)
    assert not is_of_attributes(Filter(any_of=[COUNTRY, path]))
