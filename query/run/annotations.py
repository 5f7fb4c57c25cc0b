"""The annotations of a website within the time range of a time series."""

from collections.abc import Sequence
from datetime import date

from query.request.time_range import TimeRange, time_range
from query.response.bodies import SeriesAnnotation
from schemas.registry import Annotation, SavedRecords
from schemas.runtime.clock import parse_instant_ms

MAX_ANNOTATIONS = 100
"""Annotations of one result."""
DATE_LENGTH = 10
MAX_DAYS = 10_000_000


def annotations_within(saved: SavedRecords, shown: TimeRange) -> Sequence[SeriesAnnotation]:
    """Annotations that overlap the time range, by their start; the newest if there are too many."""
    found = []
    for annotation in saved.of(Annotation):
        start_ms, end_ms = _bounds(annotation, shown.zone)
        if start_ms < shown.end_ms and end_ms > shown.start_ms:
            found.append((start_ms, end_ms, annotation))
    newest = sorted(found, key=lambda each: (each[0], each[1], each[2].id))[-MAX_ANNOTATIONS:]
    return [
        SeriesAnnotation(note.id, note.start, note.end, note.text, note.link)
        for _, _, note in newest
    ]


def _bounds(annotation: Annotation, zone: str) -> tuple[int, int]:
    """Start and exclusive end in Unix milliseconds; dates are days of the zone."""
    start, end = annotation.start, annotation.end or annotation.start
    if len(start) == DATE_LENGTH:
        days = time_range(date.fromisoformat(start), date.fromisoformat(end), zone, MAX_DAYS)
        return days.start_ms, days.end_ms
    return parse_instant_ms(start), parse_instant_ms(end) + 1
