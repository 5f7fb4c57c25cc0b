"""Sessions of groups that parts have only by visitor, held against a computation by page view."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from query.prepared import grouped_sessions
from query.prepared.grouped_sessions import GroupedSessions, only_groups
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import Part, make_part
from query.prepared.quarters import Quarters
from tests.query.lake import Stored, a_view, an_event
from tests.query.prepared.parts import Values, column_rows, join
from tests.query.prepared.test_prepared_results import TODAY, prepare
from tests.query.query_service import NOVEMBER, InProcessService

FIRST, QUARTERS, PARTS = 100, 8, 3
RANGE = Quarters(FIRST, FIRST + QUARTERS, np.zeros(QUARTERS, np.int64), [0])
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


def some_views(seed: int, changing: float) -> list[View]:
    """Page views of visitors who change their browser that often."""
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
        changed = chance.randrange(20) if chance.random() < changing else quarter // 4
        views.append(View(quarter, visitor, session, *browsers[(visitor + changed) % 7]))
    return views


def part(views: Sequence[View]) -> Part:
    """The facts and the sessions of page views, and a session without any."""
    facts: dict[Any, int] = defaultdict(int)
    sessions: dict[Any, int] = defaultdict(int, {(FIRST, 5, 77): 0})
    for view in views:
        facts[view.quarter, view.visitor, view.browser, view.version] += 1
        if view.session != -1:
            sessions[view.quarter, view.visitor, view.session] += 1
    names = {
        "facts": (("quarter", "visitor", "of_browser_name", "of_browser_version", "views"), facts),
        "sessions": (("quarter", "visitor", "session_key", "views"), sessions),
    }
    tables = {}
    for table, (columns, rows) in names.items():
        whole = [(*key, number) for key, number in rows.items()]
        lists: list[Values] = [[row[i] for row in whole] for i in range(len(columns))]
        tables[table] = column_rows(dict(zip(columns, lists, strict=True)))
    return make_part(tables)


def joined(views: Sequence[View], stored: int | None) -> JoinedParts:
    parts = [part(views[i::PARTS]) for i in range(PARTS)]
    return join(parts, FIRST, FIRST + QUARTERS, stored=stored)


def by_group(views: Sequence[View]) -> dict[tuple[str, str], tuple[int, int, set[int]]]:
    """Page views, visitors and sessions of each group."""
    found: dict[Any, Any] = {}
    for group in {view.group for view in views} - {None}:
        own = [view for view in views if view.group == group]
        people, sessions = ({getattr(v, n) for v in own} - {-1} for n in ("visitor", "session"))
        found[group] = len(own), len(people), sessions
    return found


@pytest.mark.parametrize("changing", [0, 0.1, 1])
@pytest.mark.parametrize("stored", [None, PARTS, PARTS - 1])
@pytest.mark.parametrize("seed", range(4))
def test_sessions_are_counted_or_left_out_whole(
    seed: int, stored: int | None, changing: float
) -> None:
    views = some_views(seed, changing)
    kept = [view for view in views if FIRST <= view.quarter < FIRST + QUARTERS]
    groups = defaultdict(set)
    for view in kept:
        groups[view.quarter, view.visitor].add(view.group)
    mixed = {pair for pair, own in groups.items() if len(own) > 1}
    untold = {view.session for view in kept if (view.quarter, view.visitor) in mixed} - {-1}

    rows = GroupedSessions(COLUMNS).rows(joined(views, stored), RANGE)

    assert rows is not None
    # a visitor of one group in all quarters is told in any of them
    assert {*rows.untold} == untold
    assert bool(untold) or not changing
    expected = [
        (f"{name} {version}" if version else name, name, version, count, people, len(own - untold))
        for (name, version), (count, people, own) in by_group(kept).items()
    ]
    assert [*rows] == sorted(expected, key=lambda row: (-row[4], -row[3], *row[:3]))
    assert rows.size > 0


def test_keys_have_the_group_of_all_their_rows() -> None:
    found = only_groups(np.array([0, 1, 1, 3, 1, 3]), np.array([5, 6, 6, 5, 7, 5]), 5)

    assert found.tolist() == [5, -1, -2, 5, -2]


def a_browser(visitor: str | None, name: str | None, version: str | None, **more: Any) -> Stored:
    return a_view(visitor=visitor, browser_name=name, browser_version=version, **more)


@pytest.fixture
def browsers(service: InProcessService) -> InProcessService:
    """Parts of visitors with one browser, with two in turn and at once, and of nobody."""
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


def test_sessions_that_parts_cannot_tell_are_those_of_stored_rows(
    browsers: InProcessService,
) -> None:
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


def test_many_sessions_that_parts_cannot_tell_are_left_to_stored_rows(
    browsers: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped_sessions, "MAX_UNTOLD", 1)

    assert answers(browsers)[1] is False
