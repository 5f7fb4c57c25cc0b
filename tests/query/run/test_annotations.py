"""Time series show the annotations of their website within their time range."""

from pathlib import Path
from typing import Any

from query.request.time_range import TimeRange
from query.run.annotations import MAX_ANNOTATIONS, annotations_within
from schemas.registry import Annotation, SavedRecords
from schemas.runtime.clock import parse_instant_ms
from tests.query.query_service import InProcessService, reused, start_service

STAMPS: dict[str, Any] = {"created_at": 1, "updated_at": 1, "organization_id": "acme"}


def annotation(name: str, start: str, end: str | None = None, website: str = "shop") -> Annotation:
    return Annotation(
        id=name, website_id=website, start=start, end=end, text=name, link=None, **STAMPS
    )


def range_of(start: str, end: str, zone: str = "UTC") -> TimeRange:
    return TimeRange(parse_instant_ms(start), parse_instant_ms(end), zone)


def shown(time_range: TimeRange, *annotations: Annotation) -> list[str]:
    saved = SavedRecords({each.id: each for each in annotations})
    return [each.id for each in annotations_within(saved, time_range)]


def test_annotations_that_overlap_are_shown_by_start() -> None:
    of_november = range_of("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")

    assert shown(
        of_november,
        annotation("last day", "2026-11-30"),
        annotation("after", "2026-12-01"),
        annotation("first instant", "2026-11-01T00:00:00.000Z"),
        annotation("instant after", "2026-12-01T00:00:00.000Z"),
        annotation("before", "2026-10-31"),
        annotation("instant before", "2026-10-31T23:59:59.999Z"),
        annotation("into it", "2026-10-20", "2026-11-01"),
        annotation("over it", "2026-01-01", "2026-12-31"),
        annotation("ends at its start", "2026-10-20T00:00:00.000Z", "2026-11-01T00:00:00.000Z"),
    ) == ["over it", "ends at its start", "into it", "first instant", "last day"]


def test_a_date_is_a_day_of_the_time_zone_of_the_query() -> None:
    """The last hour of 5 November in UTC is 6 November in Kathmandu."""
    hour = "2026-11-05T23:00:00Z", "2026-11-06T00:00:00Z"
    notes = annotation("fifth", "2026-11-05"), annotation("sixth", "2026-11-06")

    assert shown(range_of(*hour), *notes) == ["fifth"]
    assert shown(range_of(*hour, "Asia/Kathmandu"), *notes) == ["sixth"]


def test_the_newest_are_shown_when_there_are_too_many() -> None:
    of_november = range_of("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")
    notes = [annotation(f"n{i:03}", f"2026-11-01T00:00:00.{i:03}Z") for i in range(150)]

    assert shown(of_november, *notes) == [note.id for note in notes[-MAX_ANNOTATIONS:]]


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.store.create(annotation("launch", "2026-11-20", "2026-11-21"))
    service.store.create(annotation("other", "2026-11-20", website="blog"))
    service.follower.refresh()
    return service


def test_a_series_has_the_annotations_of_its_website(service: InProcessService) -> None:
    series, totals = service.query("events_by_date", "summary").json["data"]

    assert series["meta"]["annotations"] == [
        {"id": "launch", "start": "2026-11-20", "end": "2026-11-21", "text": "launch", "link": None}
    ]
    assert "annotations" not in totals["meta"]


def test_a_series_without_annotations_has_no_member_for_them(service: InProcessService) -> None:
    reply = service.query("events_by_date", startDate="2026-11-01", endDate="2026-11-19")

    assert "annotations" not in reply.json["data"][0]["meta"]
