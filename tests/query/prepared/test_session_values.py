"""Facts of visits by session, from the rows of the range and of its visits."""

import numpy as np
import pytest

from query.prepared.rollup import Rollup, make_rollup
from query.prepared.rollup_tables import SESSIONS, VISITS
from query.prepared.rollup_view import RollupView, VisitView
from query.prepared.sessions_index import OF_SESSIONS
from query.prepared.visits_index import VISIT_COLUMNS, SessionValues, fact_values, index_visits
from tests.query.prepared.rollups import column_rows, join

FACT = "device_type"


def rollup(*visits: tuple[int, int, str | None]) -> Rollup:
    """Visits of one row each: session, quarter and device."""
    keys, quarters, devices = (list(each) for each in zip(*visits, strict=True))
    zeros = [0] * len(keys)
    rows = dict.fromkeys(OF_SESSIONS, zeros) | {"session_key": keys, "quarter": quarters}
    facts = dict.fromkeys(VISIT_COLUMNS, zeros) | {"session_key": keys, "quarter": quarters}
    return make_rollup(
        {
            SESSIONS.name: column_rows({**rows, "visitor": keys, "views": [1] * len(keys)}),
            VISITS.name: column_rows({**facts, "visitor": keys, f"of_{FACT}": devices}),
        }
    )


def with_visits(joined: RollupView) -> RollupView:
    """The rollups, with the facts of all of their visits."""
    rows = joined.columns(VISITS.name, *VISIT_COLUMNS)
    index = index_visits(rows, joined.count("session_key"))
    sessions = joined.columns(SESSIONS.name, "session_key")["session_key"]
    joined.visits = VisitView(joined, lambda _: None if index is None else index[sessions])
    return joined


def texts_by_hash(joined: RollupView, values: SessionValues | None) -> dict[int, str | None]:
    assert values is not None
    numbers = joined.columns(SESSIONS.name, "session_key")["session_key"]
    hashes = joined.hashes("session_key", numbers).tolist()
    found = values.numbers[numbers].tolist()
    return {each: values.texts[number] for each, number in zip(hashes, found, strict=True)}


@pytest.mark.parametrize("stored", [None, 2, 1])
def test_each_session_has_the_fact_of_its_visit(stored: int | None) -> None:
    rollups = [
        rollup((5, 10, "mobile"), (6, 12, None), (7, 11, "tablet")),
        rollup((8, 10, "desktop"), (5, 13, "tablet")),
    ]
    joined = with_visits(join(rollups, 10, 15, stored=stored))

    found = texts_by_hash(joined, fact_values(joined, FACT))

    assert found == {5: "mobile", 6: None, 7: "tablet", 8: "desktop"}


def test_facts_of_two_first_page_views_are_not_told() -> None:
    joined = with_visits(join([rollup((5, 10, "mobile")), rollup((5, 10, "tablet"))], 10, 15))
    assert fact_values(joined, FACT) is None
    assert fact_values(join([rollup((5, 10, "mobile"))], 10, 15), FACT) is None


def test_bytes_in_memory_are_those_of_numbers_and_texts() -> None:
    assert SessionValues(np.zeros(8, np.uint8), (None, "ab")).size == 8 + 60 + 62
