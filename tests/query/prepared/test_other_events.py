"""Custom events and outbound clicks in one table of several parts."""

import pytest

from query.prepared.custom_event_names import CustomEventNames
from query.prepared.joined_parts import JoinedParts
from query.prepared.outbound_clicks import OutboundClicks
from query.prepared.part import Part
from query.prepared.part_tables import QUARTER_MS
from query.prepared.quarters import whole_range
from query.request.time_range import TimeRange
from tests.query.prepared.parts import join, part_of

# quarter, visitor, session, name, path, domain, link, text, start, span, events, with properties
CUSTOM = (
    (10, 70, 1, "Purchase", "/a", None, None, None, 5, 0, 1, 1),
    (11, 70, 1, "Purchase", "/b", None, None, None, 0, 9, 2, 0),
    (11, 80, -1, "Purchase", "/a", None, None, None, 3, 0, 1, 0),
    (11, -1, 2, "Signup", None, None, None, None, 3, 0, 3, 0),
)
CLICKS = (
    (10, 70, 1, "outbound_click", "/", "a.example", "https://a.example/1", "One", 5, 7, 2, 0),
    (12, 70, 3, "link_out", "/", "a.example", "https://a.example/1", "One", 1, 0, 1, 0),
    (12, 80, -1, "link_out", "/", "a.example", "https://a.example/2", None, 1, 0, 1, 0),
    (12, 80, -1, "link_out", "/", "b.example", None, None, 2, 0, 1, 0),
    (19, 80, -1, "link_out", "/", "late.example", None, None, 2, 0, 1, 0),
)
NAMES = (
    "quarter", "visitor", "session_key", "of_name", "of_path", "of_outbound_domain", "of_href",
    "of_link_text", "start_ms", "span_ms", "row_count", "with_properties",
)  # fmt: skip
Q = QUARTER_MS


def parts() -> list[Part]:
    """The rows in two parts."""
    rows = (*CUSTOM, *CLICKS)
    return [
        part_of("other_events", **dict(zip(NAMES, zip(*rows[i::2], strict=True), strict=True)))
        for i in range(2)
    ]


@pytest.fixture
def joined() -> JoinedParts:
    return join(parts(), 10, 15)


QUARTERS = whole_range(TimeRange(10 * Q, 15 * Q, "UTC"))


def test_custom_events_by_name(joined: JoinedParts) -> None:
    assert QUARTERS is not None
    assert CustomEventNames().rows(joined, QUARTERS) == [
        ("Purchase", 4, 2, 1, 11 * Q + 9, 10 * Q + 5, 1, 2, 2),
        ("Signup", 3, 0, 1, 11 * Q + 3, 11 * Q + 3, 0, 0, 2),
    ]


def test_outbound_clicks_by_link(joined: JoinedParts) -> None:
    assert QUARTERS is not None
    assert OutboundClicks(by_domain=False).rows(joined, QUARTERS) == [
        ("https://a.example/1", "One", 3, 1, 2, 3, 5, 12 * Q + 1),
        ("", "", 1, 1, 0, 1, 5, 12 * Q + 2),
        ("https://a.example/2", "", 1, 1, 0, 1, 5, 12 * Q + 1),
    ]


def test_outbound_clicks_by_domain(joined: JoinedParts) -> None:
    assert QUARTERS is not None
    assert OutboundClicks(by_domain=True).rows(joined, QUARTERS) == [
        ("a.example", 4, 2, 2, 4, 5),
        ("b.example", 1, 1, 0, 1, 5),
    ]
