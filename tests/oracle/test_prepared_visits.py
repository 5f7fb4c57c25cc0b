"""Prepared visits change no result, whatever was compacted, added, removed or damaged since."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.tables import EVENTS, SESSIONS
from tests.oracle.derived_files import data_files, prepare, remove
from tests.oracle.filters import FilterJson
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame, frames
from tests.oracle.random_traffic import Traffic, stages, traffic
from tests.oracle.service import Service
from tests.oracle.test_invariants import again, compacted

NAMES = (
    "summary",
    "events_by_date",
    "channels",
    "entry_pages",
    "exit_pages",
    "error_types",
    "session_metrics",
    "session_duration_distribution",
    "sessions_by_device",
    "sessions_time_series",
    "session_list",
    "interesting_sessions",
)
FILTERS: Sequence[FilterJson] = (
    {"field": "visit.channel", "operator": "ne", "value": "Direct"},
    {"field": "visit.exit_page", "operator": "eq", "value": "/"},
    {"field": "visit.country", "operator": "eq", "value": "DE"},
)

Scene = tuple[Traffic, Traffic, QueryFrame]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Stored traffic, what comes later, and the parameters of the queries."""
    stage = draw(stages)
    return draw(traffic(stage)), draw(traffic(stage)), draw(frames(stage, tuple(Granularity)))


def asked(frame: QueryFrame) -> list[StandardQuery]:
    """Queries that read facts of visits, by filter and by group."""
    plain = [frame.of(name, QUERY_TYPES[name].table.name, "shop") for name in NAMES]
    return [again(query, filters=(own,)) for query in plain for own in FILTERS] + plain


def reads_prepared_visits(service: Service) -> bool:
    """Whether a query of all times with a filter on a fact reads what was prepared."""
    query = {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count"}],
        "filters": list(FILTERS[:1]),
    }
    body = {"query": query, "startDate": "2026-01-01", "endDate": "2026-12-31"}
    reply = service.post("/v1/query/compile", body, "shop")
    assert reply.status == 200, reply.json
    return "prepared_visits" in reply.json["sql"]


@try_examples(2)
@given(scenes())
def test_prepared_visits_change_no_result(scene: Scene) -> None:
    stored, late, frame = scene
    queries = asked(frame)
    with Service(stored, portions=3) as service:
        before = service.results(queries)
        prepare(service, SESSIONS)
        assert service.results(queries) == before

        compacted(service)
        assert service.results(queries) == before

        assert bool(prepare(service, SESSIONS)) == reads_prepared_visits(service)
        assert service.results(queries) == before

        old_files = data_files(service)
        service.lake.holds(*(row for row in late if row.table is EVENTS))
        with_late = service.results(queries)
        prepare(service, SESSIONS)
        assert service.results(queries) == with_late
        shutil.rmtree(service.root / "lake" / "sessions")
        service.reopen()
        assert service.results(queries) == with_late

        prepare(service, SESSIONS)
        remove(service, data_files(service) - old_files)
        assert service.results(queries) == before


@try_examples(1)
@given(scenes())
def test_damaged_and_missing_files_are_left_out(scene: Scene) -> None:
    stored, _, frame = scene
    queries = asked(frame)
    with Service(stored, portions=2) as service:
        before = service.results(queries)
        prepare(service, SESSIONS)
        files = sorted(Path(service.root, "lake", "sessions").glob("day=*/*.parquet"))
        for i, file in enumerate(files):
            if i % 3 == 0:
                file.unlink()
            elif i % 3 == 1:
                file.write_bytes(b"PAR1" + b"\0" * (file.stat().st_size - 8) + b"PAR1")

        assert service.results(queries) == before
