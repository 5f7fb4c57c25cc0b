"""Percentiles, means and counts of measurements are the same with and without parts."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from query.prepared.measured_groups import MeasuredGroups
from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import TABLES
from schemas.tables import EVENTS, VITALS
from tests.oracle.derived_files import data_files, remove
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.oracles import expected_result
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.random_traffic import STAGES, Stage, Traffic, scenes_with_late_rows
from tests.oracle.service import Service, named
from tests.oracle.test_invariants import compacted
from tests.oracle.test_prepared_results import filters_on, frames_around, prepare, were_prepared

MEASURED = [t for t in QUERY_TYPES.values() if isinstance(t.prepared, MeasuredGroups)]
SHAPES = {t.row: t for t in MEASURED}
"""A type of each row shape."""
ENDED = st.sampled_from((STAGES[0], STAGES[2]))
"""Stages whose day has ended."""


def asked(
    stage: Stage, names: Sequence[str], granularity: str = Granularity.DAILY
) -> list[StandardQuery]:
    """Types, about the day of the stage and the days around it."""
    everything = {table.name: () for table in TABLES}
    return [
        QueryFrame(frame, everything, {}).of(name, QUERY_TYPES[name].table.name, "shop")
        for frame in frames_around(stage, (granularity,))
        for name in names
    ]


def test_every_order_and_page_of_each_shape() -> None:
    stage = STAGES[2]
    with Service(fixed_traffic(stage), portions=2) as service:
        plain = asked(stage, [t.name for t in SHAPES.values()])
        service.results(plain)
        prepare(service)
        wide = [each for each in plain if each.start < stage.day - timedelta(days=1)]
        queries = [
            msgspec.structs.replace(
                query, limit=2, page=page, order_by=[{"field": field, "direction": direction}]
            )
            for query in wide
            for field in QUERY_TYPES[query.name].row.__struct_fields__
            for direction in ("asc", "desc")
            for page in (1, 2)
        ]

        assert len(wide) == len(SHAPES)
        for query in [*plain, *queries]:
            [entry] = service.entries([query])
            [raw] = service.ask(query, [named(query)], "&prepared=false")
            assert entry["meta"].pop("prepared"), query
            assert entry == raw, query


FILTERED = {
    "vitals_overview": ("path", "metric_name", "country"),
    "web_vitals_by_device": ("path", "device_type"),
    "web_vitals_time_series": ("browser_name",),
    "slow_pages": ("path", "os_name"),
    "performance_overview": ("region",),
}
"""Types, with labels of measurements by which they are filtered."""


def test_filters_on_labels_choose_among_measurements() -> None:
    stage = STAGES[0]
    with Service(fixed_traffic(stage), portions=2) as service:
        before = stage.day - timedelta(days=2)
        plain = {each.name: each for each in asked(stage, [*FILTERED]) if each.start == before}
        service.results([*plain.values()])
        prepare(service)
        queries = []
        for name, fields in FILTERED.items():
            held = service.facts[QUERY_TYPES[name].table.name]
            for field in fields:
                texts = sorted({row[field] for row in held if row.get(field)})
                queries += [
                    msgspec.structs.replace(plain[name], filters=filters)
                    for filters in filters_on(field, texts)
                ]
            both: list[FilterJson] = [filters_on(field, ["DE", "/a"])[0][0] for field in fields]
            queries.append(msgspec.structs.replace(plain[name], filters=both))

        found = were_prepared(service, queries)
        assert all(found)
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query
        assert len({str(rows) for rows in service.results(queries)}) > len(queries) / 8
        other: list[FilterJson] = [{"field": "session_id", "operator": "is_not_null"}]
        by_rows = [msgspec.structs.replace(each, filters=other) for each in plain.values()]
        assert not any(were_prepared(service, by_rows))


@try_examples(3)
@given(scenes_with_late_rows(ENDED))
def test_what_is_stored_merged_or_removed_later_counts(
    scene: tuple[Stage, Traffic, Traffic],
) -> None:
    stage, stored, late = scene
    names = [t.name for t in MEASURED]
    queries = [*asked(stage, names), *asked(stage, names, Granularity.HOURLY)]
    with Service(stored, portions=3) as service:
        before = service.results(queries)
        for query, rows in zip(queries, before, strict=True):
            assert rows == expected_result(service.facts, query), query
        prepare(service)
        assert service.results(queries) == before

        tables = (EVENTS, VITALS)
        old_files = {table.name: data_files(service, table) for table in tables}
        service.lake.holds(*(row for row in late if row.table in tables))
        with_late = service.results(queries)
        unprepared = [service.ask(q, [named(q)], "&prepared=false")[0]["data"] for q in queries]
        assert with_late == unprepared
        prepare(service)
        assert service.results(queries) == with_late

        for table in tables:
            remove(service, data_files(service, table) - old_files[table.name], table)
        assert service.results(queries) == before

        compacted(service)
        assert service.results(queries) == before
        prepare(service)
        assert service.results(queries) == before
        if service.holds(VITALS) and service.holds(EVENTS):
            assert all(were_prepared(service, queries[: len(names)]))
