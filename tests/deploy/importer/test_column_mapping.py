"""Columns of other analytics products become fields of events."""

import msgspec
import pytest

from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.dry_run import dry_run_sender
from deploy.importer.formats.cell_values import parse_instant
from deploy.importer.sender import CollectorReply
from schemas.kinds import IMPORTED_EVENT
from tests.deploy.importer.builders import WEBSITE

EVENTS = {
    "ours": (
        {
            "ts": "2026-11-01T10:00:00.000Z", "received_at": "x", "event_id": "e1",
            "anonymous_id": "a1", "session_id": "s1", "name": "screen_view",
            "properties": '{"plan":"pro"}', "host": "shop.example", "path": "/100% ä?",
            "referrer": "Direct", "referrer_name": "Direct", "channel": "paid",
            "click_id": "gclid", "outbound_domain": "", "browser_name": "Arc", "country": "AT",
            "is_bot": "false", "time_on_page": "1.5", "load_time": "12",
        },
        {
            "timestamp": "2026-11-01T10:00:00.000Z", "name": "screen_view", "eventId": "e1",
            "anonymousId": "a1", "sessionId": "s1", "properties": {"plan": "pro"},
            "path": "https://shop.example/100%25%20%C3%A4%3F", "clickId": "gclid",
            "browser_name": "Arc", "country": "AT", "is_bot": False, "time_on_page": 1.5,
            "load_time": 12,
        },
    ),
    "umami": (
        {
            "website_id": "x", "session_id": "visitor", "visit_id": "visit", "event_id": "e1",
            "hostname": "a.example", "browser": "chrome", "os": "Mac OS", "device": "laptop",
            "screen": "1920x1080", "language": "en-US", "country": "GB", "subdivision1": "ENG",
            "url_path": "/p", "url_query": "utm_source=x", "referrer_path": "/r",
            "referrer_domain": "b.example", "page_title": "T", "event_name": "",
            "created_at": "2024-05-01 10:00:00",
        },
        {
            "timestamp": "2024-05-01 10:00:00", "eventId": "e1", "anonymousId": "visitor",
            "sessionId": "visit", "path": "https://a.example/p?utm_source=x", "title": "T",
            "referrer": "https://b.example/r", "browser_name": "Chrome", "os_name": "macOS",
            "device_type": "desktop", "country": "GB", "region": "ENG", "language": "en-US",
            "screen_resolution": "1920x1080", "name": "pageview",
        },
    ),
    "plausible": (
        {
            "timestamp": "2024-05-01 10:00:00", "name": "pageview", "user_id": "7",
            "session_id": "8", "hostname": "a.example", "pathname": "/p", "referrer": "",
            "screen_size": "Mobile", "operating_system": "iOS", "browser": "Safari",
            "country_code": "de", "utm_source": "x",
        },
        {
            "timestamp": "2024-05-01 10:00:00", "name": "pageview", "anonymousId": "7",
            "sessionId": "8", "path": "https://a.example/p", "device_type": "mobile",
            "os_name": "iOS", "browser_name": "Safari", "country": "DE", "utm_source": "x",
        },
    ),
    "analytics of four": (
        {
            "event_timestamp": "1714557600123456", "event_name": "page_view",
            "user_pseudo_id": "1.2", "ga_session_id": "3", "page_location": "https://a.example/p?x",
            "page_title": "T", "page_referrer": "https://b.example/", "geo_country": "Germany",
            "device_category": "smart tv", "geo_city": "(not set)",
        },
        {
            "timestamp": 1_714_557_600_123, "name": "pageview", "anonymousId": "1.2",
            "sessionId": "3", "path": "https://a.example/p?x", "title": "T",
            "referrer": "https://b.example/", "country": "DE", "device_type": "tv",
        },
    ),
    "seconds": ({"time": "1714557600", "url": "/p"},
                {"timestamp": 1_714_557_600_000, "path": "/p", "name": "pageview"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_columns_of_other_products_are_mapped(name: str) -> None:
    fields, event = EVENTS[name]

    assert ColumnMapper({}).event(fields) == event


@pytest.mark.parametrize("name", EVENTS)
def test_mapped_events_are_accepted_by_the_collector(name: str) -> None:
    event = ColumnMapper({}).event(EVENTS[name][0])

    assert dry_run_sender(WEBSITE)([msgspec.json.encode(event)]) == CollectorReply(1)
    msgspec.json.decode(msgspec.json.encode(event), type=IMPORTED_EVENT.item)


def test_a_column_can_be_mapped_to_a_field() -> None:
    mapper = ColumnMapper({"who": "anonymousId", "when": "timestamp"})

    line = {"who": "a", "user_id": "b", "when": "1714557600000", "event": "e", "x": 1}
    event = mapper.event(line)

    assert event == {"anonymousId": "a", "timestamp": 1_714_557_600_000, "name": "e"}
    assert mapper.ignored == {"user_id", "x"}


def test_times_that_others_write_are_read() -> None:
    day = 1_761_955_200_000  # 2025-11-01T00:00:00Z
    times = {
        "2025-11-01 10:00:00 UTC": "2025-11-01 10:00:00Z",
        "2025-11-01 10:00:00.123456 UTC": "2025-11-01 10:00:00.123456Z",
        "2025-11-01T10:00:00 gmt": "2025-11-01T10:00:00Z",
        "2025-10-31T24:00:00Z": day,
        "2025-10-31 24:00:00 UTC": day,
        "2025-10-31T24:00+02:00": day - 7_200_000,
        "1761955200": day,
    }

    assert {text: parse_instant(text) for text in times} == times
    for wrong in ("2025-10-31T24:00:01Z", "2025-10-32T24:00:00Z", "UTC"):
        with pytest.raises(ValueError):  # noqa: PT011 - of each parser
            parse_instant(wrong)


def test_amplitude_with_its_names_mapped_has_no_session_of_minus_one() -> None:
    line = {"event_time": "1", "event_type": "a", "session_id": -1, "event_properties": {"b": 1}}

    event = ColumnMapper({"event_type": "name"}).event(line)

    assert event == {"timestamp": 1000, "name": "a", "properties": {"b": 1}}


def test_unknown_values_are_left_out_and_counted() -> None:
    mapper = ColumnMapper({})
    for device in ("console", "tablet", "car"):
        mapper.event({"url": "/", "device": device, "country": "Atlantis", "is_bot": "maybe"})

    assert mapper.skipped_values == {"device_type": 2, "country": 3, "is_bot": 3}


def test_page_views_are_known_in_any_spelling_but_in_an_export_of_tidemark() -> None:
    spellings = ("Page View", "pageView", "page_view", "PageView", "Pageview", "page-view")
    own = {"received_at": "x", "referrer_name": "", "outbound_domain": ""}

    assert {ColumnMapper({}).event({"ts": 1, "name": name})["name"] for name in spellings} == {
        "pageview"
    }
    assert ColumnMapper({}).event({"ts": 1, "name": "Page View", **own})["name"] == "Page View"
    assert ColumnMapper({}).event({"ts": 1, "name": "Page Viewer"})["name"] == "Page Viewer"
