"""Paths of sessions and pages of long lists are the same with and without parts."""

from datetime import timedelta

import msgspec
import pytest

from query.request.time_range import Granularity
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import TABLES
from schemas.tables import EVENTS
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.random_traffic import STAGES, Stage
from tests.oracle.service import Service, named
from tests.oracle.test_prepared_results import SPANS, asked, prepare, were_prepared


@pytest.mark.parametrize(("stage", "portions"), [(STAGES[0], 2), (STAGES[2], 1)])
def test_paths_between_pages_and_orders_of_sequences(stage: Stage, portions: int) -> None:
    with Service(fixed_traffic(stage), portions=portions) as service:
        days = timedelta(days=SPANS[1][0])
        queries = asked(stage, (Granularity.DAILY,))
        plain = {query.name: query for query in queries if query.start == stage.day - days}
        paths, flow = plain["paths"], plain["session_flow"]
        service.results([paths, flow])
        prepare(service)
        pages = sorted({row["from_path"] for row in service.results([flow])[0]})[:3]
        ends: list[dict[str, object]] = [
            {"max_steps": steps, **start, **end}
            for steps in (2, 5, 10)
            for start in ({}, *({"from": page} for page in pages))
            for end in ({}, *({"to": page} for page in (*pages, "/nowhere")))
        ]
        queries = [msgspec.structs.replace(paths, options=options) for options in ends]
        queries += [
            msgspec.structs.replace(
                query, limit=2, page=page, order_by=[{"field": field, "direction": direction}]
            )
            for query in (paths, flow)
            for field in QUERY_TYPES[query.name].row.__struct_fields__
            for direction in ("asc", "desc")
            for page in (1, 2)
        ]

        for query in queries:
            [entry] = service.entries([query])
            [raw] = service.ask(query, [named(query)], "&prepared=false")
            assert entry["meta"].pop("prepared"), query
            assert "prepared" not in raw["meta"]
            assert entry == raw, query
        assert len({str(rows) for rows in service.results(queries)}) > len(ends) / 4
        split = msgspec.structs.replace(paths, options={"breakdown": "country"})
        assert were_prepared(service, [split]) == [False]


@pytest.mark.parametrize(("stage", "portions"), [(STAGES[0], 2), (STAGES[2], 2)])
def test_pages_of_lists_found_by_prepared_parts(stage: Stage, portions: int) -> None:
    with Service(fixed_traffic(stage), portions=portions) as service:
        frame = StandardQuery(
            name="",
            start=stage.day - timedelta(days=1),
            end=stage.day + timedelta(days=1),
            zone=stage.zone,
            granularity=Granularity.DAILY,
        )
        everything = {table.name: () for table in TABLES}
        names = [t.name for t in QUERY_TYPES.values() if _has_prepared_keys(t)]
        plain = [QueryFrame(frame, everything, {}).of(name, EVENTS.name, "shop") for name in names]
        service.results(plain)
        prepare(service)
        queries = [
            msgspec.structs.replace(
                query, limit=3, page=page, order_by=[{"field": field, "direction": direction}]
            )
            for query in plain
            for field in orders(QUERY_TYPES[query.name])
            for direction in ("asc", "desc")
            for page in (1, 2)
        ]

        assert len(plain) == 3
        for query in [*plain, *queries]:
            [found] = service.entries([query])
            [raw] = service.ask(query, [named(query)], "&prepared=false")
            assert found == raw, query


def orders(query_type: QueryType) -> list[str]:
    """The fields by which the keys of the pages of a type can be ordered."""
    keys = query_type.listing.page_keys
    return [*keys.orders, *keys.joined_orders] if keys else []


def _has_prepared_keys(query_type: QueryType) -> bool:
    keys = query_type.listing.page_keys
    return keys is not None and keys.prepared is not None
