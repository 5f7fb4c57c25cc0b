"""Prepared results are those of the stored rows, whatever is stored, merged or removed since."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import TABLES
from schemas.tables import EVENTS
from tests.oracle.comparison import comparison
from tests.oracle.derived_files import data_files, remove
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.oracles import expected_result
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.random_traffic import (
    STAGES,
    Stage,
    Traffic,
    parameters,
    scenes_with_late_rows,
)
from tests.oracle.service import Service, named
from tests.oracle.test_invariants import compacted

TYPES = tuple(query_type.name for query_type in QUERY_TYPES.values() if query_type.prepared)
SERIES = (
    "events_by_date",
    "sessions_time_series",
    "custom_events_trends",
    "custom_events_trends_by_event",
)
"""Asked for buckets of every width."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "goals": {
        "goals": [
            *({"event": name} for name in ("signup", "Signup", "köp", "nothing")),
            *({"path": path} for path in ("/a", "/a*", "*", "/a_b", "/*%", "/ü*", "/nowhere")),
            {"event": "signup", "value": "properties.seats", "label": "seats"},
            {"path": "/a*", "value": "properties.price", "label": "price"},
            {"event": "nothing", "value": "properties.price", "label": "no value"},
        ]
    }
}
"""Of types that are nothing without."""
CLOSED = (STAGES[0], *STAGES[2:])
"""Where most rows were received before the present day."""
SPANS = ((0, 0), (1, 1), (2, 0), (0, 2))
"""Days before and after the day of the stage."""


def frames_around(
    stage: Stage, granularities: Sequence[str] = (Granularity.DAILY,)
) -> list[StandardQuery]:
    """Queries without a name about the day of the stage and the days around it."""
    return [
        StandardQuery(
            name="",
            start=stage.day - timedelta(days=before),
            end=stage.day + timedelta(days=after),
            zone=stage.zone,
            granularity=granularity,
        )
        for before, after in SPANS
        for granularity in granularities
        if granularity != Granularity.MINUTE
    ]


def asked(stage: Stage, granularities: Sequence[str] = tuple(Granularity)) -> list[StandardQuery]:
    """Every type that can be prepared, about the day and the days around it."""
    frames = frames_around(stage, granularities)
    everything = {table.name: () for table in TABLES}
    return [
        QueryFrame(frame, everything, OPTIONS).of(name, EVENTS.name, "shop")
        for frame in frames
        for name in TYPES
        if frame.granularity == Granularity.DAILY or name in SERIES
    ]


def prepare(service: Service) -> None:
    """Make what the queries so far have asked for."""
    assert service.prepared_results is not None
    asyncio.run(service.prepared_results.make_pending())


def were_prepared(service: Service, queries: Sequence[StandardQuery]) -> list[bool]:
    """Which of the queries prepared results answer."""
    return [entry["meta"].get("prepared", False) for entry in service.entries(queries)]


@pytest.mark.long
@pytest.mark.parametrize("stage", parameters(CLOSED))
def test_prepared_results_are_those_of_the_oracle(stage: Stage) -> None:
    with Service(fixed_traffic(stage), portions=2) as service:
        queries = asked(stage)
        assert not any(were_prepared(service, queries))

        prepare(service)

        assert sum(were_prepared(service, queries)) >= len(queries) / 4
        for query, found in zip(queries, service.results(queries), strict=True):
            assert found == expected_result(service.facts, query), query
        for query in queries[: len(TYPES)]:
            reply = service.ask(query, [named(query)], "&prepared=false")
            assert "prepared" not in reply[0]["meta"]
            assert reply[0]["data"] == expected_result(service.facts, query), query


@pytest.mark.long
def test_pages_orders_and_comparisons_of_prepared_results() -> None:
    stage = STAGES[2]
    with Service(fixed_traffic(stage), portions=2) as service:
        plain = asked(stage, (Granularity.DAILY,))[-len(TYPES) :]  # of the longest time range
        service.results(plain)
        prepare(service)
        pages = [msgspec.structs.replace(each, limit=2, page=2) for each in plain]
        ordered = [
            msgspec.structs.replace(
                each,
                limit=3,
                order_by=[{"field": "pageviews", "direction": direction}],
            )
            for each in plain
            if "pageviews" in QUERY_TYPES[each.name].row.__struct_fields__
            for direction in ("asc", "desc")
        ]
        for query in [*pages, *ordered]:
            [entry] = service.entries([query])
            [raw] = service.ask(query, [named(query)], "&prepared=false")
            assert entry["data"] == raw["data"], query
            assert entry["meta"]["totalRows"] == raw["meta"]["totalRows"], query
        compared = [msgspec.structs.replace(each, compare="previous_period") for each in plain]
        for query, entry in zip(compared, service.entries(compared), strict=True):
            assert entry["comparison"] == comparison(service.facts, query, entry["data"]), query


FILTERED = {
    "top_pages": ["path"],
    "country": ["country"],
    "city": ["city", "country"],
    "region": ["region", "country"],
    "browser_versions": ["browser_name", "browser_version"],
    "channels": ["channel", "visit.channel"],
    "utm_sources": ["utm_source"],
    "entry_pages": ["visit.entry_page"],
    "exit_pages": ["visit.exit_page"],
}
"""Lists, with the fields of filters that choose among their rows."""


def filters_on(field: str, texts: Sequence[str]) -> list[list[FilterJson]]:
    """Every operator, and groups of them, with texts that occur."""
    text, other = (*texts, "a", "b")[:2]
    part = text[1:3]
    one = ("eq", "ne", "gt", "gte", "lt", "lte")
    conditions: list[FilterJson] = [
        *({"field": field, "operator": name, "value": text} for name in one),
        *({"field": field, "operator": name, "value": [text, other]} for name in ("in", "not_in")),
        *(
            {"field": field, "operator": name, "value": part}
            for name in ("contains", "not_contains", "starts_with", "ends_with")
        ),
        *({"field": field, "operator": name} for name in ("is_null", "is_not_null")),
    ]
    is_text = conditions[0]
    groups: list[list[FilterJson]] = [
        [{"or": [is_text, {"field": field, "operator": "eq", "value": other}]}],
        [{"not": is_text}, {"field": field, "operator": "ne", "value": other}],
        [{"and": [{"not": {"or": [is_text]}}, {"field": field, "operator": "gt", "value": ""}]}],
    ]
    return [[each] for each in conditions] + groups


@pytest.mark.long
@pytest.mark.parametrize("stage", parameters(CLOSED[:2]))
def test_filters_on_the_texts_of_a_list(stage: Stage) -> None:
    with Service(fixed_traffic(stage), portions=2) as service:
        plain = {query.name: query for query in asked(stage, (Granularity.DAILY,))[: len(TYPES)]}
        wide = {
            name: msgspec.structs.replace(plain[name], start=stage.day - timedelta(days=2))
            for name in FILTERED
        }
        queries = []
        for name, fields in FILTERED.items():
            [rows] = service.results([wide[name]])
            for i, field in enumerate(fields):
                key = "name" if i == 0 or name in ("channels",) else field
                texts = [row[key] for row in rows if row.get(key)]
                queries += [
                    msgspec.structs.replace(wide[name], filters=filters)
                    for filters in filters_on(field, texts)
                ]
        prepare(service)

        found = were_prepared(service, queries)
        assert sum(found) >= len(found) / 2
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


@pytest.mark.long
@try_examples(3)
@given(scenes_with_late_rows())
def test_what_is_stored_merged_or_removed_later_counts(
    scene: tuple[Stage, Traffic, Traffic],
) -> None:
    stage, stored, late = scene
    queries = asked(stage, (Granularity.DAILY, Granularity.HOURLY))
    with Service(stored, portions=3) as service:
        before = service.results(queries)
        prepare(service)
        assert service.results(queries) == before

        old_files = data_files(service)
        service.lake.holds(*(row for row in late if row.table is EVENTS))
        with_late = service.results(queries)
        unprepared = [service.ask(q, [named(q)], "&prepared=false")[0]["data"] for q in queries]
        assert with_late == unprepared
        prepare(service)
        assert service.results(queries) == with_late

        remove(service, data_files(service) - old_files)
        assert service.results(queries) == before

        compacted(service)
        assert service.results(queries) == before
        prepare(service)
        assert service.results(queries) == before

        damaged_and_missing(service)
        service.reopen()
        assert service.results(queries) == before
        assert service.results(queries) == before


def damaged_and_missing(service: Service) -> None:
    """Cut one file of the prepared results, spoil the next, remove the third, and so on."""
    files = sorted(Path(service.root, "prepared").glob("*/*/*.parquet"))
    for i, file in enumerate(files):
        if i % 3 == 0:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        elif i % 3 == 1:
            middle = file.stat().st_size // 2
            content = bytearray(file.read_bytes())
            content[middle : middle + 8] = bytes(8)
            file.write_bytes(content)
        else:
            file.unlink()


def test_results_of_another_definition_are_removed() -> None:
    stage = STAGES[0]
    with Service(fixed_traffic(stage)) as service:
        queries = asked(stage, (Granularity.DAILY,))[:5]
        service.results(queries)
        prepare(service)
        folder = next(Path(service.root, "prepared").iterdir())
        shutil.move(folder, folder.with_name("0" * 8))

        service.reopen()

        assert not any(were_prepared(service, queries))
        assert not folder.with_name("0" * 8).exists()
