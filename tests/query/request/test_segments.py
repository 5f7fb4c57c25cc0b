"""Segments in filters stand for the filters of the segment, in every kind of request."""

from typing import Any

import pytest
from msgspec import convert

from query.request.filters import Filter
from query.request.segments import expand_segments
from schemas.errors import Malformed
from schemas.registry import SavedRecords, Segment
from tests.query.lake import an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

GERMAN = {"field": "country", "operator": "eq", "value": "DE"}
PHONE = {"field": "device_type", "operator": "eq", "value": "mobile"}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
STAMPS: dict[str, Any] = {"created_at": 1, "updated_at": 1, "organization_id": "acme"}
SEGMENT = Segment(
    id="seg_1", website_id="shop", name="German phones", filters=(GERMAN, PHONE), **STAMPS
)
SAVED = SavedRecords({SEGMENT.id: SEGMENT})
A, B = (Filter(field="path", operator="eq", value=path) for path in "ab")
ONE, TWO = convert([GERMAN, PHONE], list[Filter])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """Four purchases on the shop: two of German phones, one of them of a visitor twice."""
    service = start_service(tmp_path_factory.mktemp("segments"))
    for country, device, count in (("DE", "mobile", 2), ("DE", "desktop", 1), ("US", "mobile", 1)):
        for n in range(count):
            service.holds(
                an_event(
                    "purchase", anonymous_id=f"{device}{n}", country=country, device_type=device
                )
            )
    service.store.create(SEGMENT)
    service.store.create(
        Segment(id="seg_2", website_id="blog", name="Blog", filters=(GERMAN,), **STAMPS)
    )
    service.follower.refresh()
    return service


def counted(service: InProcessService, *filters: Any) -> Any:
    reply = service.custom("events", [COUNT], filters=list(filters))
    assert reply.status == 200, reply.json
    return reply.json["data"][0]["n"]


@pytest.mark.parametrize("name", ["seg_1", "German phones"])
def test_a_segment_is_its_filters(service: InProcessService, name: str) -> None:
    assert counted(service, {"segment": name}) == counted(service, GERMAN, PHONE) == 2


@pytest.mark.parametrize(
    ("group", "count"),
    [
        ({"not": {"segment": "seg_1"}}, 2),
        ({"or": [{"segment": "seg_1"}, {**GERMAN, "value": "US"}]}, 3),
        ({"and": [{"segment": "seg_1"}, PHONE]}, 2),
        ({"not": {"or": [{"segment": "seg_1"}]}}, 2),
    ],
)
def test_a_segment_stands_in_groups(service: InProcessService, group: Any, count: int) -> None:
    assert counted(service, group) == count


def test_standard_queries_and_exports_take_segments(service: InProcessService) -> None:
    named = [{"segment": "German phones"}]
    written = service.query("custom_events", filters=[GERMAN, PHONE]).json
    for parameter, filters in (
        ("custom_events", named),
        ({"name": "custom_events", "filters": named}, []),
    ):
        reply = service.query(parameter, filters=filters)
        assert reply.json["data"][0]["data"] == written["data"][0]["data"]
    assert service.query("custom_events", filters=named).json["meta"]["filters_applied"] == 2

    exported = service.ask(
        "GET",
        "/v1/export/events",
        website_id="shop",
        filters='[{"segment":"seg_1"}]',
        columns="country",
        **NOVEMBER,
    )
    assert exported.body.decode().splitlines() == ['{"country":"DE"}'] * 2


def test_metrics_queries_take_segments(service: InProcessService) -> None:
    body = {"metrics": ["events"], "filters": [{"segment": "seg_1"}], **NOVEMBER}

    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop")

    assert reply.json["data"] == [{"events": 2}]


def test_steps_take_segments(service: InProcessService) -> None:
    goals = [{"event": "purchase", "filters": [{"segment": "seg_1"}]}, {"event": "purchase"}]

    rows = service.rows({"name": "goals", "goals": goals})
    (first, _) = service.rows({"name": "funnel", "steps": goals})

    assert [row["conversions"] for row in rows] == [2, 4]
    assert first["visitors"] == rows[0]["visitors"]


@pytest.mark.parametrize(
    ("filter_", "error"),
    [
        (
            {"segment": "German phone"},
            "Unknown segment 'German phone' in 'filters[0]'; did you mean 'German phones'?",
        ),
        ({"or": [{"segment": "seg_2"}]}, "Unknown segment 'seg_2' in 'filters[0].or[0]'"),
        (
            {"segment": "seg_1", "field": "path"},
            "'filters[0]' names a segment; it can have no other member",
        ),
    ],
)
def test_a_mistake_is_named(service: InProcessService, filter_: Any, error: str) -> None:
    """A segment of another website is unknown like one that does not exist."""
    reply = service.query("summary", filters=[filter_])

    assert (reply.status, reply.json["code"]) == (400, "VALIDATION_ERROR")
    assert reply.json["error"].startswith(error)


def test_conditions_on_results_and_saved_filters_name_no_segment(
    service: InProcessService,
) -> None:
    reply = service.custom("events", [COUNT], having=[{"segment": "seg_1"}])
    assert (reply.status, reply.json["error"]) == (
        400,
        "'query.having[0].segment': a segment cannot be named here",
    )
    body = {"name": "a", "filters": [{"segment": "seg_1"}]}
    saved = service.ask("POST", "/v1/segments", body, key="acme-admin", website_id="shop")
    assert (saved.status, saved.json["error"]) == (
        400,
        "'filters[0].segment': a segment cannot be named here",
    )


def test_other_filters_keep_their_positions() -> None:
    filters = [A, Filter(segment="seg_1"), B]

    assert expand_segments(filters, SAVED) == [A, ONE, B, TWO]
    with pytest.raises(Malformed, match="Unknown segment 'seg_1'"):
        expand_segments(filters, SavedRecords())
