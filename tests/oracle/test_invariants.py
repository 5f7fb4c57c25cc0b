"""Results that must agree with each other, whatever the traffic is."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import TABLES
from schemas.runtime.settings import Settings
from stream.maintenance.compaction import merge_files
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.oracle.aggregates import ResultRow
from tests.oracle.custom import CustomQuery
from tests.oracle.custom_query_strategies import FILTERED, filters_of_named
from tests.oracle.filters import FilterJson
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame, frames
from tests.oracle.random_traffic import Stage, Traffic, stages, traffic
from tests.oracle.service import Service, every_type
from tests.query.lake import Stored

Scene = tuple[Stage, Traffic, QueryFrame]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A stage, its stored traffic, and the parameters of the queries."""
    stage = draw(stages)
    return stage, draw(traffic(stage)), draw(frames(stage, tuple(Granularity)))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Scene, Traffic]:
    """A scene, and the traffic of other tenants at the same time."""
    scene = draw(scenes())
    return scene, draw(traffic(scene[0]))


def whole(frame: QueryFrame, name: str, **other: Any) -> StandardQuery:
    """A question about all rows of the frame's span."""
    queries = frame.of(name, QUERY_TYPES[name].table.name, "shop")
    fields = {field: getattr(queries, field) for field in StandardQuery.__struct_fields__}
    return StandardQuery(**fields | {"limit": None, "page": 1} | other)


# The same facts, kept otherwise


@pytest.mark.long
@try_examples(2)
@given(scenes())
def test_compaction_and_a_restart_change_no_answer(scene: Scene) -> None:
    _, stored, frame = scene
    with Service(stored, portions=3) as service:
        queries = every_type(frame)
        before = service.results(queries)

        compacted(service)
        assert service.results(queries) == before

        service.reopen()
        assert service.results(queries) == before


def compacted(service: Service) -> None:
    """Every day of every table in its final form."""
    settings = Settings(data_dir=str(service.root))
    for table in (table for table in TABLES if service.holds(table)):
        lake = LakeTable(settings, table)
        live = live_data_files(lake.handle, table)
        for day in {piece.day for piece in live}:
            joined = [piece for piece in live if piece.day == day]
            parts = merge_files(lake, day, joined)
            lake.replace_same_rows([piece.path for piece in joined], parts, day.isoformat())


@try_examples(2)
@given(neighbours())
def test_what_others_do_changes_no_answer(scene: tuple[Scene, Traffic]) -> None:
    (_, stored, frame), elsewhere = scene
    own = [row for row in stored if mine(row)]
    others = [row for row in elsewhere if not mine(row)]
    queries = every_type(frame)
    with Service(own) as alone:
        results = alone.results(queries)

    with Service([*own, *others]) as together:
        assert together.results(queries) == results


def mine(row: Stored) -> bool:
    """Whether the row is the shop's, or of its link."""
    return row.values.get("website_id") == "shop" or row.values.get("link_id") == "go"


# Parts of one list


@pytest.mark.long
@try_examples(2)
@given(scenes())
def test_paging_through_gives_the_unpaged_list_once(scene: Scene) -> None:
    _, stored, frame = scene
    with Service(stored) as service:
        queries = every_type(frame)
        wholes = service.results([again(each, limit=12, page=1) for each in queries])
        pages = [
            service.results([again(each, limit=4, page=number) for each in queries])
            for number in (1, 2, 3)
        ]
        beyond = service.results([again(each, limit=500, page=21) for each in queries])

    for query, everything, *parts in zip(queries, wholes, *pages, strict=True):
        assert [row for part in parts for row in part] == everything, query
    assert beyond == [[]] * len(queries)


def again(query: StandardQuery, **other: Any) -> StandardQuery:
    """The question with some of it changed."""
    fields = {field: getattr(query, field) for field in StandardQuery.__struct_fields__}
    return StandardQuery(**fields | other)


# Sums


@try_examples(4)
@given(scenes())
def test_the_points_of_a_series_sum_up_to_the_totals(scene: Scene) -> None:
    _, stored, frame = scene
    with Service(stored) as service:
        summary = service.result(whole(frame, "summary_metrics"))[0]
        course = service.result(whole(frame, "events_by_date"))
        errors = service.result(whole(frame, "error_trends"))
        messages = service.result(whole(frame, "error_types", limit=10_000))

    assert sum_of(course, "pageviews") == summary["pageviews"]
    assert sum_of(course, "sessions") == summary["sessions"]
    assert sum_of(errors, "errors") == sum_of(messages, "count")


@try_examples(4)
@given(scenes())
def test_days_sum_up_to_their_span_where_rows_are_counted(scene: Scene) -> None:
    _, stored, frame = scene
    with Service(stored) as service:
        span = whole(frame, "summary_metrics")
        days = [
            again(span, start=day, end=day)
            for day in (
                span.start + timedelta(days=n) for n in range((span.end - span.start).days + 1)
            )
        ]
        total = service.result(span)[0]
        parts = [service.result(day)[0] for day in days]

    for metric in ("pageviews", "total_events"):
        assert sum_of(parts, metric) == total[metric]
    for metric in ("unique_visitors", "sessions"):
        assert max(part[metric] for part in parts) <= total[metric]


def sum_of(rows: Sequence[ResultRow], metric: str) -> int:
    """The sum of one column."""
    return sum(row[metric] for row in rows)


# Filters

USUAL = ("events", "sessions", "clicks")
"""Tables whose filters are tried at every change."""


@pytest.mark.parametrize(
    "table",
    [pytest.param(name, marks=() if name in USUAL else pytest.mark.long) for name in FILTERED],
)
@try_examples(3)
@given(st.data())
def test_a_filter_and_its_negation_share_all_rows(table: str, data: st.DataObject) -> None:
    stage = data.draw(stages)
    stored = data.draw(traffic(stage))
    with Service(stored) as service:
        everything = counted(service, stage, table, [])
        for filter_ in data.draw(st.lists(filters_of_named(table), min_size=12, max_size=12)):
            negation = {"not": filter_}
            counts = counted(service, stage, table, [filter_])

            assert counts + counted(service, stage, table, [negation]) == everything, filter_
            assert counted(service, stage, table, [{"not": negation}]) == counts
            assert counted(service, stage, table, [filter_, negation]) == 0
            assert counted(service, stage, table, [{"or": [filter_, negation]}]) == everything
            opposite = opposite_of(filter_)
            if opposite:
                assert counts + counted(service, stage, table, [opposite]) == everything, filter_


OPPOSITES = {"eq": "ne", "in": "not_in", "contains": "not_contains", "is_null": "is_not_null"}


def opposite_of(filter_: FilterJson) -> FilterJson | None:
    """The filter with the operator that says the contrary."""
    if "has_done" in filter_:
        return {"has_not_done": filter_["has_done"]}
    if "has_not_done" in filter_:
        return {"has_done": filter_["has_not_done"]}
    both = OPPOSITES | {contrary: name for name, contrary in OPPOSITES.items()}
    name = both.get(filter_["operator"])
    return {**filter_, "operator": name} if name else None


def counted(service: Service, stage: Stage, table: str, filters: Sequence[FilterJson]) -> int:
    """The rows of a table that the filters let through."""
    query = CustomQuery(
        table=table,
        selects=[{"aggregate": "count", "field": "*"}],
        start=stage.day - timedelta(days=1),
        end=stage.day + timedelta(days=1),
        zone=stage.zone,
        filters=filters,
        subject="go" if table == "clicks" else "shop",
        include_bots=True,
    )
    reply = service.post("/v1/query/custom", query.body, query.subject)
    assert reply.status == 200, (filters, reply.json)
    return int(reply.json["data"][0]["count_all"])
