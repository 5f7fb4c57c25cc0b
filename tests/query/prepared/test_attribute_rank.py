"""Which rows are numbered by their places, and how they take the place of others."""

import numpy as np
import pytest

from query.engine.column_rows import ColumnRows
from query.prepared.attribute_rank import MixedSessions, mixed_sessions, with_rows
from query.prepared.rollup_tables import FACTS, NO_HASH, OTHER_FACTS, PAGES, SESSIONLESS
from tests.query.prepared.rollups import column_rows

Owner = tuple[int, int, int]
"""Quarter, visitor and session."""


def owners(*rows: Owner) -> ColumnRows:
    columns = {
        name: [row[i] for row in rows]
        for i, name in enumerate(("quarter", "visitor", "session_key"))
    }
    return column_rows(columns)


def mixed(facts: list[Owner], other_facts: list[Owner]) -> tuple[list[int], list[int]]:
    found = mixed_sessions({FACTS.name: owners(*facts), OTHER_FACTS.name: owners(*other_facts)})
    return found.sessions.tolist(), found.visitors.tolist()


ONE = (10, 1, 11)


@pytest.mark.parametrize(
    ("facts", "other_facts", "expected"),
    [
        ([ONE], [], ([], [])),
        ([ONE], [(11, 1, 11), (10, 1, 12), (10, 2, 13)], ([], [])),
        ([ONE, ONE], [], ([11], [])),
        ([ONE], [ONE], ([11], [])),
        ([ONE, (10, 2, 11)], [], ([11], [])),
        ([(10, 11, NO_HASH), ONE], [], ([], [])),
        ([(10, 7, NO_HASH), ONE], [(10, 7, NO_HASH)], ([], [7])),
        ([(10, 7, NO_HASH), (10, 8, NO_HASH)], [], ([], [])),
        ([ONE, (10, NO_HASH, NO_HASH)], [ONE, (10, NO_HASH, NO_HASH)], ([11], [NO_HASH])),
    ],
    ids=str,
)
def test_several_places_in_one_quarter(
    facts: list[Owner], other_facts: list[Owner], expected: tuple[list[int], list[int]]
) -> None:
    assert mixed(facts, other_facts) == expected


def test_sources_of_rows_without_a_session_are_numbered_too() -> None:
    rows = column_rows({"quarter": [10, 10, 11], "visitor": [7, 7, 8]})

    assert mixed_sessions({SESSIONLESS.name: rows}).visitors.tolist() == [7]
    assert not mixed_sessions({PAGES.name: owners(ONE, ONE)})


def test_many_rows_of_their_own_are_not_mixed() -> None:
    chance = np.random.default_rng(1)
    quarters, visitors = (chance.integers(0, 2**62, 200_000).tolist() for _ in range(2))
    rows = column_rows({"quarter": quarters, "visitor": visitors})

    assert not mixed_sessions({SESSIONLESS.name: rows})


def pages(*rows: tuple[int, int, str | None, int]) -> ColumnRows:
    """Rows of visitor, session, path and place."""
    visitors, sessions, paths, places = zip(*rows, strict=True)
    return column_rows(
        {
            "quarter": [10] * len(rows),
            "visitor": visitors,
            "session_key": sessions,
            "of_path": paths,
            "place": places,
        }
    )


def test_numbered_rows_take_the_place_of_theirs() -> None:
    every = pages((1, 11, "/b", 0), (2, 12, "/a", 0), (7, NO_HASH, "/a", 0), (7, 13, None, 0))
    numbered = pages((1, 11, "/b", 0), (1, 11, "/c", 1), (7, NO_HASH, None, 3))

    found = with_rows(every, MixedSessions(np.array([11]), np.array([7])), numbered)

    texts = [None, *found.texts["of_path"]]
    columns = (found.numbers[name].tolist() for name in ("visitor", "session_key", "place"))
    paths = [texts[i] for i in found.numbers["of_path"].tolist()]
    assert [*zip(*columns, paths, strict=True)] == [
        (2, 12, 0, "/a"),
        (7, 13, 0, None),
        (1, 11, 0, "/b"),
        (1, 11, 1, "/c"),
        (7, NO_HASH, 3, None),
    ]


def test_the_sql_names_those_who_are_there() -> None:
    only_sessions = MixedSessions(np.array([11]), np.array([], np.int64))

    assert "$mixed_sessions" in only_sessions.sql
    assert "$mixed_visitors" not in only_sessions.sql
    assert only_sessions.values == {"mixed_sessions": [11]}
