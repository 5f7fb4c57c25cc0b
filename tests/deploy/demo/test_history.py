"""Events of the weeks before the demo's own: what an import takes, each on a line of its own."""

import msgspec

from deploy.demo.first_start import imported_events
from deploy.demo.traffic import generate_visits
from schemas.tables.events import ImportedEvent

NOW = 1_795_262_400_000  # 2026-11-21T12:00:00Z
DAY = 86_400_000


def test_each_event_is_one_that_an_import_takes() -> None:
    visits = generate_visits(3, 200, NOW - 35 * DAY, NOW - 7 * DAY)
    lines = [msgspec.json.encode(event) for event in imported_events(visits)]
    events = [msgspec.json.decode(line, type=ImportedEvent) for line in lines]

    assert [event.line for event in events] == list(range(1, len(events) + 1))
    assert all(event.country and event.user_agent for event in events)
    assert [event.name for event in events] == [e["name"] for v in visits for e in v.events]
    assert len(events) > 300
