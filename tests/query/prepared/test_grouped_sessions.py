"""Sessions of groups of page views, held against a computation by page view."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_view import RollupView
from query.prepared.session_groups import GroupedSessions
from tests.query.lake import Stored, a_view, an_event
from tests.query.prepared.rollups import column_rows, join
from tests.query.prepared.test_prepared_results import TODAY, prepare
from tests.query.query_service import NOVEMBER, InProcessService

FIRST, QUARTERS, PARTS = 100, 8, 3
RANGE = QuarterHours(FIRST, FIRST + QUARTERS, np.zeros(QUARTERS, np.int64), [0])
COLUMNS = ("browser_name", "browser_version")


class View(Struct, frozen=True):
    """A page view; -1 is no visitor or no session."""

    quarter: int
    visitor: int
    session: int
    browser: str | None
    version: str | None

    @property
    def group(self) -> tuple[str, str] | None:
        return None if self.browser is None else (self.browser, self.version or "")


def some_views(seed: int) -> list[View]:
    """Page views of visitors who change their browser."""
    chance = Random(seed)
    browsers = [
        ("A", "1"),
        ("A", "2"),
        ("A", None),
        ("A", ""),
        ("", "1"),
        ("B C", "1"),
        (None, "1"),
    ]
    views = []
    for _ in range(150):
        visitor = chance.choice((-1, *range(30)))
        quarter = FIRST + chance.randrange(-1, QUARTERS + 1)
        session = chance.choice((-1, visitor * 2, visitor * 2 + 1, 99)) if visitor >= 0 else 98
        views.append(View(quarter, visitor, session, *chance.choice(browsers)))
    return views


def rollup(views: Sequence[View]) -> Rollup:
    """The facts of page views."""
    names = ("quarter", "visitor", "session_key", "of_browser_name", "of_browser_version", "views")
    counts = Counter((v.quarter, v.visitor, v.session, v.browser, v.version) for v in views)
    rows = [(*view, count) for view, count in counts.items()]
    columns: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return make_rollup({"facts": column_rows(columns)})


def joined(views: Sequence[View], stored: int | None) -> RollupView:
    rollups = [rollup(views[i::PARTS]) for i in range(PARTS)]
    return join(rollups, FIRST, FIRST + QUARTERS, stored=stored)


def by_group(views: Sequence[View]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Page views, visitors and sessions of each group."""
    found: dict[Any, Any] = {}
    for group in {view.group for view in views} - {None}:
        own = [view for view in views if view.group == group]
        people, sessions = ({getattr(v, n) for v in own} - {-1} for n in ("visitor", "session"))
        found[group] = len(own), len(people), len(sessions)
    return found


@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(8))
def test_sessions_are_counted_once_in_each_group(seed: int, stored: int | None) -> None:
    views = some_views(seed)
    kept = [view for view in views if FIRST <= view.quarter < FIRST + QUARTERS]
    expected = [
        (f"{name} {version}" if version else name, name, version, *counts)
        for (name, version), counts in by_group(kept).items()
    ]

    rows = GroupedSessions(COLUMNS).rows(joined(views, stored), RANGE)

    assert rows == sorted(expected, key=lambda row: (-row[4], -row[3], *row[:3]))


def test_a_range_without_page_views_has_no_groups() -> None:
    assert GroupedSessions(COLUMNS).rows(joined([], None), RANGE) == []


def a_browser(visitor: str | None, name: str | None, version: str | None, **more: Any) -> Stored:
    return a_view(visitor=visitor, browser_name=name, browser_version=version, **more)


@pytest.fixture
def browsers(service: InProcessService) -> InProcessService:
    """Rollups of visitors with one browser, with two in turn and at once, and of nobody."""
    service.holds(
        a_browser("u1", "A", "1", session="s1"),
        a_browser("u1", "A", "1", session="s2", at="2026-11-11T09:00:00Z"),
        a_browser("u2", "A", "1", session="s3"),
        a_browser("u2", "A", "2", session="s3", at="2026-11-10T15:00:00Z"),
        a_browser("u3", "A", None, session="s4"),
        a_browser("u3", "B", "", session="s4"),
        a_browser("u3", "B", None, session="s5"),
        a_browser("u4", None, "7", session="s6"),
        a_browser(None, "B", "1", session="s7"),
        a_browser(None, "A", "1", session=None),
        an_event("signup", visitor="u1", session="s8", browser_name="C"),
    )
    service.rows("browsers_grouped")
    prepare(service)
    return service


def answers(service: InProcessService, **more: Any) -> tuple[Any, Any]:
    """The rows, and whether they are prepared; those of the stored rows are the same."""
    body = {"parameters": ["browsers_grouped"], **NOVEMBER, **more}
    found, stored = (
        service.ask("POST", "/v1/query", body, website_id="shop", prepared=each).json["data"][0]
        for each in ("true", "false")
    )
    assert found["data"] == stored["data"]
    assert found["meta"]["totalRows"] == stored["meta"]["totalRows"]
    return [tuple(row.values()) for row in found["data"]], found["meta"].get("prepared", False)


def test_rows_are_those_of_stored_rows(browsers: InProcessService) -> None:
    rows = [
        ("A 1", "A", "1", 4, 2, 3),
        ("B", "B", "", 2, 1, 2),
        ("A", "A", "", 1, 1, 1),
        ("A 2", "A", "2", 1, 1, 1),
        ("B 1", "B", "1", 1, 0, 1),
    ]
    assert answers(browsers) == (rows, True)
    assert answers(browsers, startDate="2026-11-11") == ([("A 1", "A", "1", 1, 1, 1)], True)
    assert answers(browsers, limit=2, page=2) == (rows[2:4], True)
    by_sessions = [{"field": "sessions", "direction": "asc"}]
    assert answers(browsers, orderBy=by_sessions)[1]

    browsers.holds(a_browser("u1", "B", "1", session="s2", at=TODAY))
    assert answers(browsers)[1]
