"""Exports of other products become the right events, or are refused by name."""

from pathlib import Path
from typing import Any

import pytest

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.file_check import check_file
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.source_file import SourceFile

EXPORTS = Path(__file__).parent / "exports"


def events(name: str, **overrides: str) -> list[dict[str, Any]]:
    """The events of a file; an invalid line is its reason."""
    file, mapper = SourceFile(EXPORTS / name), ColumnMapper(overrides)
    check_file(file, mapper)
    return [event_or_reason(mapper, dict(line.fields)) for line in file.lines()]


def event_or_reason(mapper: ColumnMapper, fields: dict[str, Any]) -> dict[str, Any]:
    try:
        return mapper.event(fields)
    except InvalidLine as error:
        return {"invalid": str(error)}


def test_posthog() -> None:
    view, purchase = events("posthog.ndjson")

    assert view == {
        "timestamp": "2026-11-01T10:00:00.123Z",
        "name": "pageview",
        "eventId": "0193a1b2-0000-7000-8000-000000000001",
        "anonymousId": "d-1",
        "profileId": "user_7",
        "sessionId": "s-1",
        "path": "https://shop.example/cart?x=1",
        "title": "Cart",
        "utm_source": "news",
        "browser_name": "Firefox",
        "browser_version": "131",
        "os_name": "macOS",
        "os_version": "10.15",
        "device_type": "desktop",
        "country": "DE",
        "screen_resolution": "1440x900",
    }
    assert purchase == {
        "timestamp": "2026-11-01T10:01:00Z",
        "name": "purchase",
        "eventId": "0193a1b2-0000-7000-8000-000000000002",
        "anonymousId": "user_7",
        "sessionId": "s-1",
        "properties": {"total": 49.9},
    }


def test_a_page_left_in_posthog_is_a_page_exit_and_no_event_of_its_own() -> None:
    line = {"event": "$pageleave", "distinct_id": "a", "timestamp": "2026-11-01T10:00:03Z"}
    columns = {"uuid": "e2", "properties": {"$current_url": "https://shop.example/a"}}

    imported = event_or_reason(ColumnMapper({}), {**line, **columns})

    assert imported["name"] == "page_exit"


def test_posthog_with_a_column_per_property() -> None:
    assert events("posthog.csv") == [
        {
            "timestamp": "2026-11-01T10:00:00Z",
            "name": "pageview",
            "eventId": "e1",
            "anonymousId": "anon_1",
            "path": "https://shop.example/a",
            "browser_name": "Chrome",
            "properties": {"plan": "pro"},
        }
    ]


def test_google_analytics_by_bigquery() -> None:
    assert events("google_analytics.ndjson") == [
        {
            "timestamp": 1793527200123,
            "name": "pageview",
            "anonymousId": "111.222",
            "sessionId": "111.222.1793527190",
            "path": "https://shop.example/cart",
            "title": "Cart",
            "referrer": "https://news.example/",
            "utm_source": "news",
            "utm_medium": "email",
            "browser_name": "Chrome",
            "browser_version": "130.0",
            "os_name": "Windows",
            "os_version": "10",
            "device_type": "desktop",
            "country": "DE",
            "region": "Berlin",
            "city": "Berlin",
            "language": "de-de",
            "properties": {"plan": "pro"},
        }
    ]


def test_umami() -> None:
    [event] = events("umami.csv")

    assert {name: event[name] for name in ("name", "anonymousId", "sessionId", "profileId")} == {
        "name": "pageview",
        "anonymousId": "s1",
        "sessionId": "v1",
        "profileId": "user_7",
    }
    assert event["path"] == "https://shop.example/cart?x=1"
    assert event["referrer"] == "https://news.example/a"
    assert event["timestamp"] == "2026-11-01 10:00:00"


def test_plausible_events() -> None:
    view, engagement = events("plausible.ndjson")

    assert (view["name"], view["path"]) == ("pageview", "https://shop.example/cart")
    assert (view["anonymousId"], view["sessionId"]) == ("8712", "99")
    assert (view["properties"], view["device_type"]) == ({"plan": "pro"}, "desktop")
    assert "scroll_depth" not in view
    assert engagement["invalid"].startswith("this is no event")


def test_a_visits_log_of_matomo_as_a_table_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("idSite,idVisit,visitorId,actionDetails_0_url\n1,7,9f2c,/a\n", "utf-16")

    with pytest.raises(InvalidMapping, match=r"Matomo .*name no types of actions"):
        check_file(SourceFile(path), ColumnMapper({}))


def test_columns_that_are_mapped_by_hand_have_priority() -> None:
    [event] = events("umami.csv", distinct_id="anonymousId")

    assert event["anonymousId"] == "user_7"


@pytest.mark.parametrize(
    ("line", "product"),
    [
        (
            {"event": "a", "distinct_id": "u", "timestamp": "2026-11-01", "properties": "{"},
            "PostHog",
        ),
        (
            {"event_name": "a", "event_timestamp": "1793527200123456", "event_params": [{"a": 1}]},
            "Google Analytics 4",
        ),
    ],
)
def test_a_damaged_line_is_rejected(line: dict[str, Any], product: str) -> None:
    reason = event_or_reason(ColumnMapper({}), line)["invalid"]

    assert reason.startswith(f"the line is not as {product}")


DEEP = "[" * 100_000


def test_a_damaged_cell_rejects_its_line_only() -> None:
    plausible = {
        **{"name": "a", "site_id": 1, "user_id": "1", "session_id": "2", "hostname": "a.b"},
        **{"pathname": "/", "timestamp": "2026-11-01", "meta.value": "['pro','3']"},
    }
    posthog = {"event": "a", "distinct_id": "u", "timestamp": "2026-11-01"}

    for cell in ("['plan','si", "['a'\0]", "[" * 210 + "]" * 210, DEEP):
        reason = event_or_reason(ColumnMapper({}), {**plausible, "meta.key": cell})["invalid"]
        assert reason.startswith("the line is not as Plausible")
    for cell in (DEEP, '{"a":' * 100_000):
        reason = event_or_reason(ColumnMapper({}), {**posthog, "properties": cell})["invalid"]
        assert reason.startswith("the line is not as PostHog")
        kept = ColumnMapper({}).event({"ts": "1", "name": "a", "properties": cell})
        assert kept == {"timestamp": 1000, "name": "a"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"event": "$identify", "distinct_id": "u", "timestamp": "2026-11-01"}, "'$identify'"),
        (
            {"event_name": "session_start", "event_timestamp": "1", "event_params": []},
            "'session_start'",
        ),
        (
            {
                **{"session_id": "s", "visit_id": "v", "url_path": "/q/abc"},
                **{"created_at": "2026-11-01", "event_type": "3"},
            },
            "short link",
        ),
        (
            {
                **{"session_id": "s", "visit_id": "v", "url_path": "/q/abc"},
                **{"created_at": "2026-11-01", "event_type": 6, "event_name": "x"},
            },
            "'6' is no kind of Umami",
        ),
        (
            {
                **{"session_id": "s", "visit_id": "v", "url_path": "/q/abc"},
                **{"created_at": "2026-11-01", "event_type": 2, "event_name": ""},
            },
            "'2' is no kind of Umami",
        ),
    ],
    ids=["posthog", "google analytics", "umami", "umami of later", "umami without a name"],
)
def test_what_a_product_adds_by_itself_is_no_event(line: dict[str, Any], reason: str) -> None:
    assert reason in event_or_reason(ColumnMapper({}), line)["invalid"]


def test_the_profile_of_posthog_is_known_once_the_visitor_is_identified() -> None:
    line = {"event": "buy", "distinct_id": "user_7", "timestamp": "2026-11-01"}
    known = {"$device_id": "d-1", "$is_identified": True}

    imported = event_or_reason(ColumnMapper({}), {**line, "properties": known})
    anonymous = event_or_reason(ColumnMapper({}), {**line, "properties": {}})

    assert (imported["anonymousId"], imported["profileId"]) == ("d-1", "user_7")
    assert "profileId" not in anonymous


def test_the_source_in_a_url_is_the_source_of_plausible_without_a_referrer() -> None:
    line = {"name": "pageview", "site_id": 1, "user_id": "1", "session_id": "2", "hostname": "a.b"}
    view = {**line, "pathname": "/", "timestamp": "2026-11-01", "referrer_source": "Newsletter"}

    by_url = event_or_reason(ColumnMapper({}), {**view, "referrer": ""})
    by_referrer = event_or_reason(ColumnMapper({}), {**view, "referrer": "t.co"})

    assert by_url["utm_source"] == "Newsletter"
    assert "utm_source" not in by_referrer


GOATCOUNTER = (
    "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,"
    "Screen size,Location,FirstVisit,Date\n"
)


def test_goatcounter(tmp_path: Path) -> None:
    path = tmp_path / "goatcounter.csv"
    path.write_text(
        GOATCOUNTER
        + "sign-up,,1,,Firefox,macOS 10.15,s1,0,mail,c,,DE,0,2026-11-01T10:00:00Z\n"
        + '/a,Home,0,,Chrome 120,Windows 10,s1,3,news.example/x,h,"1920,1080,1",US-TX,1,'
        + "2026-11-01T10:01:00Z\n"
    )
    file, mapper = SourceFile(path), ColumnMapper({})

    check_file(file, mapper)
    event, view = (event_or_reason(mapper, dict(line.fields)) for line in file.lines())

    assert event == {
        "timestamp": "2026-11-01T10:00:00Z",
        "name": "sign-up",
        "anonymousId": "s1",
        "sessionId": "s1",
        "utm_source": "mail",
        "browser_name": "Firefox",
        "os_name": "macOS",
        "os_version": "10.15",
        "country": "DE",
        "is_bot": False,
    }
    assert view == {
        "timestamp": "2026-11-01T10:01:00Z",
        "name": "pageview",
        "anonymousId": "s1",
        "sessionId": "s1",
        "path": "/a",
        "title": "Home",
        "referrer": "https://news.example/x",
        "browser_name": "Chrome",
        "browser_version": "120",
        "os_name": "Windows",
        "os_version": "10",
        "screen_resolution": "1920x1080",
        "country": "US",
        "region": "US-TX",
        "is_bot": True,
    }


def test_goatcounter_of_another_version_is_refused() -> None:
    line = dict.fromkeys(GOATCOUNTER.strip().replace("2Path", "1Path").split(","), "1")

    assert (
        "version 2 can be read, not '1Path'" in event_or_reason(ColumnMapper({}), line)["invalid"]
    )
