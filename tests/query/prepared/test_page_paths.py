"""Paths of sessions from rollups."""

from collections.abc import Sequence

import pytest

from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows
from query.prepared.page_paths import PagePaths
from query.prepared.quarter_hours import whole_range
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.rollup_view import RollupView
from query.request.time_range import TimeRange
from tests.query.prepared.rollups import Values, join, part_of

Q = QUARTER_MS
QUARTERS = whole_range(TimeRange(10 * Q, 11 * Q, "UTC"))


def sessions(*paths: str, visitors: Sequence[int] = ()) -> dict[str, Values]:
    """The columns of sessions with these pages, each of a visitor of its own unless told."""
    views = [(i, ms, page) for i, path in enumerate(paths) for ms, page in enumerate(path.split())]
    return {
        "quarter": [10] * len(views),
        "visitor": [visitors[i] if visitors else 100 + i for i, _, _ in views],
        "session_key": [i + 1 for i, _, _ in views],
        "start_ms": [ms for _, ms, _ in views],
        "tie": [0] * len(views),
        "of_path": [page for _, _, page in views],
    }


def joined(columns: dict[str, Values]) -> RollupView:
    return join([part_of("page_views", **columns)], 10, 11, stored=1)


def found(form: PagePaths, columns: dict[str, Values]) -> Sequence[tuple[object, ...]] | None:
    """Label, steps, sessions and visitors of each path."""
    assert QUARTERS is not None
    rows = form.rows(joined(columns), QUARTERS)
    if rows is None:
        return None
    whole = sum(row[2] for row in rows)
    assert all(row[4:] == (row[2], whole, None, 0) for row in rows)
    return [row[:4] for row in rows]


TRAFFIC = ("/ /a /b /c", "/ /a /a /b /c /d", "/a / /a", "/b /a /c", "/ /a", "/")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (PagePaths(None, None, 3), [
            ("/ → /a → /b", 3, 2), ("/", 1, 1), ("/ → /a", 2, 1), ("/a → / → /a", 3, 1),
            ("/b → /a → /c", 3, 1),
        ]),
        (PagePaths("/a", None, 2), [("/a → /b", 2, 2), ("/a", 1, 1), ("/a → /", 2, 1),
                                    ("/a → /c", 2, 1)]),
        (PagePaths(None, "/c", 3), [("/a → /b → /c", 3, 2), ("/b → /a → /c", 3, 1)]),
        (PagePaths(None, "/c", 2), [("/b → /c", 2, 2), ("/a → /c", 2, 1)]),
        (PagePaths("/", "/b", 3), [("/ → /a → /b", 3, 2)]),
        (PagePaths("/", "/c", 3), []),
        (PagePaths("/a", "/a", 3), [("/a", 1, 5)]),
        (PagePaths("/none", None, 3), []),
        (PagePaths("/", "/none", 3), []),
        (PagePaths(None, "/none", 3), []),
    ],
)  # fmt: skip
def test_paths_from_and_to_pages(form: PagePaths, expected: Sequence[Row]) -> None:
    rows = found(form, sessions(*TRAFFIC))
    assert rows is not None
    assert [row[:3] for row in rows] == expected
    assert all(row[3] == row[2] for row in rows)  # each session has a visitor of its own


def test_visitors_of_a_path_count_once_and_nobody_does_not() -> None:
    visitors = (7, 7, 8, -1)
    assert found(PagePaths(None, None, 5), sessions("/ /a", "/ /a", "/ /a", "/b",
                                                    visitors=visitors)) == [
        ("/ → /a", 2, 3, 2), ("/b", 1, 1, 0)
    ]  # fmt: skip


def test_long_paths_of_many_pages_are_told_apart() -> None:
    # ten steps of some 2,000 pages take more than 63 bits
    paths = [
        " ".join(f"/{(i * 7 + step * step) % 1999}" for step in range(10)) for i in range(1999)
    ]
    rows = found(PagePaths(None, None, 10), sessions(*paths, paths[5]))
    assert rows is not None
    assert rows[0] == (paths[5].replace(" ", " → "), 10, 2, 2)
    assert len(rows) == len(set(paths))
    assert [row[0] for row in rows[1:]] == sorted(str(row[0]) for row in rows[1:])


def test_other_orders() -> None:
    assert QUARTERS is not None
    rows = PagePaths(None, None, 3).rows(joined(sessions(*TRAFFIC)), QUARTERS)
    assert isinstance(rows, ArrayRows)
    labels = [row[0] for row in rows]
    assert [row[0] for row in rows.page([("name", False)], 0, 9)] == sorted(labels)[::-1]
    assert [row[1] for row in rows.page([("steps", True)], 0, 9)] == [1, 2, 3, 3, 3]
    assert rows.page([("percentage", False)], 0, 1) == rows[:1]
    assert rows.page([("visitors", True)], 0, 9)[-1] == rows[0]
    assert rows.page([("breakdown", True)], 0, 9) == [*rows]


def test_pages_that_look_like_paths_are_left_to_stored_rows() -> None:
    columns = {**sessions("/ /a"), "of_path": ["/", "/ → /a"]}
    assert found(PagePaths(None, None, 3), columns) is None
