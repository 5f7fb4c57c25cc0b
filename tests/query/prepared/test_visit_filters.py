"""Rows of the visits that filters on their facts keep, also of those without a session."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import PAGES, SESSIONLESS, SESSIONS, SOURCES, VISITS
from query.prepared.rollup_view import RollupView, VisitView
from query.prepared.session_filters import divided, rows_of_visits
from query.prepared.sessions_index import OF_SESSIONS
from query.prepared.visits_index import VISIT_COLUMNS, index_visits
from query.request.filter_struct import Filter
from tests.query.prepared.rollups import Values, column_rows, join

NOBODY = -1
CHANNEL = Filter(field="channel", operator="eq", value="Email")
NO_CHANNEL = Filter(field="visit.channel", operator="is_null")
ENTRY = Filter(field="visit.entry_page", operator="eq", value="/")
COUNTRY = Filter(field="country", operator="eq", value="DE")
Visit = tuple[int, int, str | None]
"""Session or visitor, quarter and channel."""


def columns(visits: Sequence[Visit]) -> tuple[list[int], list[int], list[str | None]]:
    return [each[0] for each in visits], [each[1] for each in visits], [each[2] for each in visits]


def rollup(visits: Sequence[Visit], without: Sequence[Visit]) -> Rollup:
    """Visits of one page view each, and page views of visitors without a session."""
    keys, quarters, channels = columns(visits)
    visitors, their_quarters, their_channels = columns(without)
    zeros, nothing = [0] * len(keys), [None] * len(visitors)
    key: dict[str, Values] = {"session_key": keys, "quarter": quarters}
    rows = dict.fromkeys(OF_SESSIONS, zeros) | key
    facts = dict.fromkeys(VISIT_COLUMNS, zeros) | key
    sources: dict[str, Values] = {f"of_{name}": nothing for name in SOURCES}
    return make_rollup(
        {
            SESSIONS.name: column_rows({**rows, "visitor": keys, "views": [1] * len(keys)}),
            VISITS.name: column_rows(
                {**facts, "visitor": keys, "of_channel": channels, "of_entry_page": channels}
            ),
            SESSIONLESS.name: column_rows(
                {"quarter": their_quarters, "visitor": visitors, **sources}
                | {"of_channel": their_channels}
            ),
            PAGES.name: column_rows(
                {
                    "quarter": quarters + their_quarters,
                    "visitor": keys + visitors,
                    "session_key": keys + [NOBODY] * len(visitors),
                    "of_path": [f"/{key}" for key in keys + visitors],
                }
            ),
        }
    )


def joined(stored: int | None, *rollups: Rollup) -> RollupView:
    """The rollups, with the facts of all of their visits."""
    of_parts = join(rollups, 10, 20, stored=stored)
    index = index_visits(
        of_parts.columns(VISITS.name, *VISIT_COLUMNS), of_parts.count("session_key")
    )
    assert index is not None
    sessions = of_parts.columns(SESSIONS.name, "session_key")["session_key"]
    of_parts.visits = VisitView(of_parts, lambda _: index[sessions])
    return of_parts


def paths(rows: RollupView | None) -> list[str | None] | None:
    if rows is None:
        return None
    numbers, texts = rows.text_numbers(PAGES.name, "of_path")
    return sorted(texts[i] or "" for i in numbers.tolist())


VISITS_OF_PARTS: Sequence[tuple[Sequence[Visit], Sequence[Visit]]] = (
    ([(1, 10, "Email"), (2, 11, "Direct"), (3, 12, None)], [(8, 10, "Email"), (9, 10, "Direct")]),
    ([(4, 10, "Email"), (1, 13, "Direct")], [(8, 14, "Direct"), (9, 30, "Email")]),
)


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_rows_of_a_channel(stored: int | None) -> None:
    rollups = [rollup(*each) for each in VISITS_OF_PARTS]
    rows = rows_of_visits(joined(stored, *rollups), [CHANNEL])
    assert paths(rows) == ["/1", "/1", "/4", "/8"]  # session 1 began with it


@pytest.mark.parametrize("stored", [None, 1, 2])
def test_facts_of_the_visits_that_remain(stored: int | None) -> None:
    rollups = [rollup(*each) for each in VISITS_OF_PARTS]
    rows = rows_of_visits(joined(stored, *rollups), [NO_CHANNEL])
    assert rows is not None
    [(numbers, texts)] = rows.visit_facts(["channel"]) or []
    assert [texts[i] for i in numbers.tolist()] == [None]
    assert paths(rows) == ["/3"]


def test_rows_without_a_session_have_no_entry_page_in_parts() -> None:
    without_any = rollup(VISITS_OF_PARTS[0][0], [])
    assert paths(rows_of_visits(joined(1, without_any), [ENTRY])) == []
    assert rows_of_visits(joined(1, rollup(*VISITS_OF_PARTS[0])), [ENTRY]) is None


def test_rows_of_one_visitor_and_quarter_that_differ_are_not_told() -> None:
    differing = rollup([(1, 10, "Email")], [(8, 10, "Email"), (8, 10, "Direct")])
    assert rows_of_visits(joined(1, differing), [CHANNEL]) is None
    assert paths(rows_of_visits(joined(1, differing), [NO_CHANNEL])) == []


def test_filters_on_other_fields_are_apart() -> None:
    both = Filter(any_of=[CHANNEL, COUNTRY])
    assert divided([CHANNEL, COUNTRY, ENTRY, both]) == ([CHANNEL, ENTRY], [COUNTRY, both])


def test_texts_of_rows_that_remain_are_found_by_text() -> None:
    rows = rows_of_visits(joined(1, rollup(*VISITS_OF_PARTS[0])), [CHANNEL])
    assert rows is not None
    found = rows.rows_of_texts(PAGES.name, "of_path", lambda texts: range(len(texts)), "quarter")
    assert np.array_equal(found["quarter"], [10, 10])
