"""Filters on places of visits that go on in rows without a part, held against the stored rows."""

from collections.abc import Mapping, Sequence

import pytest

from query.prepared import index_store
from tests.oracle.service import Service
from tests.oracle.test_prepared_results import prepare
from tests.query.lake import a_view

Page = tuple[str, str, str, str]
"""A page view: session, time, path and country."""

OTHERS: Sequence[Page] = [
    (f"{day}-{i}", f"2026-11-{day}T10:00:00Z", "/x", "DE") for day in (26, 27, 29) for i in range(6)
]
MIXED: Sequence[Page] = [
    ("mixed", "2026-11-29T10:00:00Z", "/m", "DE"),
    ("mixed", "2026-11-29T11:00:00Z", "/m", "US"),
]
VISITS: Mapping[str, Sequence[Page]] = {
    "met before today": [
        ("s", "2026-11-29T23:50:00Z", "/a", "DE"),
        ("s", "2026-11-30T00:10:00Z", "/b", "US"),
    ],
    "met today": [
        ("s", "2026-11-29T23:50:00Z", "/a", "US"),
        ("s", "2026-11-30T00:10:00Z", "/b", "DE"),
    ],
    "met before the range": [
        ("s", "2026-11-28T23:50:00Z", "/a", "DE"),
        ("s", "2026-11-30T00:10:00Z", "/b", "US"),
    ],
    "met before the range, and in it": [
        ("s", "2026-11-28T23:50:00Z", "/a", "DE"),
        ("s", "2026-11-29T00:10:00Z", "/b", "DE"),
        ("s", "2026-11-30T00:10:00Z", "/c", "US"),
    ],
}
NAMES = (
    *("summary", "session_metrics", "sessions_time_series", "session_duration_distribution"),
    *("events_by_date", "entry_pages", "exit_pages", "sessions_by_device", "session_list"),
    *("session_pages", "top_pages", "channels"),
)


@pytest.mark.parametrize("few_parts", [0, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("others", [OTHERS, [*OTHERS, *MIXED]], ids=["alike", "mixed"])
@pytest.mark.parametrize("visit", VISITS)
def test_metrics_of_visits_are_of_whole_visits_with_a_row_that_meets_them(
    visit: str, others: Sequence[Page], few_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_store, "FEW_ROLLUPS", few_parts)
    views = [
        a_view(path, at=at, session=session, visitor=session, country=country)
        for session, at, path, country in (*others, *VISITS[visit])
    ]
    in_germany = {"field": "country", "operator": "eq", "value": "DE"}
    with Service(views) as service:

        def ask(start: str, more: str = "") -> list[tuple[str, object]]:
            body = {
                "parameters": NAMES,
                "startDate": start,
                "endDate": "2026-11-30",
                "timezone": "UTC",
                "filters": [in_germany],
            }
            entries = service.post("/v1/query", body, "shop", more).json["data"]
            assert more or sum(each["meta"].get("prepared", False) for each in entries) > 8
            return [(each["parameter"], each["data"]) for each in entries]

        ask("2026-11-26", "&prepared=true")
        prepare(service)
        for start in ("2026-11-26", "2026-11-29"):
            assert ask(start) == ask(start, "&prepared=false")
