"""Places of the rows of any table, where rollups tell them."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import FACTS, OTHER_FACTS, PAGES
from query.prepared.rollup_view import RollupView
from query.prepared.row_columns import ALL_ROWS, EventRows, field_texts, view_rows
from tests.query.prepared.rollups import Values, column_rows, join

NOBODY = -1
BY_PATH = view_rows(PAGES, first_name=True, second_name=True)
View = tuple[int, int, int, str, str | None]
"""Quarter, visitor, session, path and country."""


def columns(views: list[View]) -> dict[str, Values]:
    quarters, visitors, sessions, paths, countries = zip(*views, strict=True)
    ones = [1] * len(views)
    return {
        "quarter": quarters,
        "visitor": visitors,
        "session_key": sessions,
        "of_path": paths,
        "of_country": countries,
        "views": ones,
        "second_name_views": [int(path.startswith("/2")) for path in paths],
        "other_rows": ones,
    }


def rollup(
    views: list[View],
    others: list[View],
    places: Sequence[int] | None = None,
    other_places: Sequence[int] | None = None,
) -> Rollup:
    """Page views, each with another row of the same place, and further rows."""
    made = columns(views) | {"place": places or [0] * len(views)}
    further = columns(others) | {"place": other_places or [0] * len(others)}
    tables = {FACTS: made, PAGES: made, OTHER_FACTS: further}
    return make_rollup({table.name: column_rows(each) for table, each in tables.items()})


OTHERS: list[View] = [(12, 5, 15, "", "IT")]
VIEWS: list[View] = [
    (10, 1, 11, "/a", "DE"),
    (10, 2, 12, "/b", None),
    (10, 3, 13, "/moved", "DE"),
    (11, 3, 13, "/2", "FR"),
    (11, 4, NOBODY, "/nobody", "ES"),
]


def countries_by_path(joined: RollupView) -> dict[str | None, str | None]:
    paths, countries = (field_texts(joined, BY_PATH, name) for name in ("path", "country"))
    found: dict[str | None, str | None] = {}
    for each in joined.by_rollup():
        rows = EventRows(each, BY_PATH)
        both = zip(paths.values()(rows).tolist(), countries.values()(rows).tolist(), strict=True)
        found |= {paths.texts[path]: countries.texts[country] for path, country in both}
    return found


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_a_page_view_has_the_country_of_its_session_or_quarter(stored: int | None) -> None:
    rollups = [rollup(VIEWS[:3], OTHERS), rollup(VIEWS[3:], OTHERS)]

    assert countries_by_path(join(rollups, 0, 100, stored=stored)) == {
        "/a": "DE",
        "/b": None,
        "/moved": "DE",
        "/2": "FR",
        "/nobody": "ES",
    }


@pytest.mark.parametrize("session", [11, NOBODY])
@pytest.mark.parametrize("as_view", [True, False])
def test_two_countries_in_one_quarter_are_told_by_number(session: int, *, as_view: bool) -> None:
    rows: list[View] = [(10, 1, session, "/a", "DE"), (10, 1, session, "/z", "FR")]
    views, others = (rows, OTHERS) if as_view else (rows[:1], rows[1:])

    with pytest.raises(NotPrepared, match="within a quarter-hour"):
        countries_by_path(join([rollup(views, others)], 0, 100))
    assert countries_by_path(join([rollup(views, others)], 50, 100)) == {}
    numbered = rollup(views, others, [0, 1][: len(views)], [0] if as_view else [1])
    told = {"/a": "DE", "/z": "FR"} if as_view else {"/a": "DE"}
    assert countries_by_path(join([numbered], 0, 100)) == told


def test_parts_of_one_session_and_quarter_have_places_of_their_own() -> None:
    rollups = [
        rollup([(10, 1, 11, path, country)], OTHERS)
        for path, country in (("/a", "DE"), ("/b", "FR"))
    ]
    for stored in (None, 1, 2):
        assert countries_by_path(join(rollups, 0, 100, stored=stored)) == {"/a": "DE", "/b": "FR"}


def test_two_countries_of_which_neither_is_asked_for_are_told() -> None:
    rows: list[View] = [(10, 1, 11, "/a", "DE"), (10, 1, 11, "/b", "FR")]
    joined = join([rollup([*rows, *VIEWS[1:3]], OTHERS)], 0, 100)
    [one] = joined.by_rollup()
    countries = field_texts(joined, BY_PATH, "country")

    def are_of(country: str) -> list[bool]:
        flags = np.array([text == country for text in countries.texts])
        found: list[bool] = countries.values(flags)(EventRows(one, BY_PATH)).tolist()
        return found

    assert are_of("ES") == [False] * 4
    with pytest.raises(NotPrepared, match="within a quarter-hour"):
        are_of("DE")


def test_rows_of_all_events_have_their_own_place() -> None:
    joined = join([rollup(VIEWS, OTHERS)], 0, 100)
    [one] = joined.by_rollup()
    countries = field_texts(joined, ALL_ROWS, "country")

    rows = EventRows(one, ALL_ROWS)

    assert rows.counts.tolist() == [2, 2, 2, 2, 2, 1]
    found = [countries.texts[i] for i in countries.values()(rows).tolist()]
    assert found == ["DE", None, "DE", "FR", "ES", "IT"]
    rows.keep(rows.column("quarter") > 10)
    assert rows.counts.tolist() == [2, 2, 1]
    assert [countries.texts[i] for i in countries.values()(rows).tolist()] == ["FR", "ES", "IT"]


@pytest.mark.parametrize(("first", "second", "count"), [(1, 1, 5), (1, 0, 4), (0, 1, 1)])
def test_page_views_of_one_name(first: int, second: int, count: int) -> None:
    [one] = join([rollup(VIEWS, OTHERS)], 0, 100).by_rollup()

    for table in (PAGES, FACTS):
        source = view_rows(table, first_name=bool(first), second_name=bool(second))
        assert EventRows(one, source).counts.sum() == count
