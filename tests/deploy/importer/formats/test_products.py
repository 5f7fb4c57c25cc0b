"""Small files in the documented structure of each product become the right events."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.file_check import check_file
from deploy.importer.formats.snowplow import TSV_COLUMNS
from deploy.importer.import_run import PendingItem, request_batches
from tests.deploy.importer.builders import a_file, imported, json_lines


def reasons(found: list[dict[str, Any]]) -> list[str]:
    return [event["invalid"] for event in found if "invalid" in event]


def names(found: list[dict[str, Any]]) -> list[str | None]:
    return [event.get("name") for event in found]


AMPLITUDE = {
    **{"amplitude_id": 7, "device_id": "d1", "user_id": None, "session_id": 1_793_527_200_000},
    **{"event_time": "2026-11-01 10:00:00.123456", "event_id": 3, "platform": "Web"},
    **{"os_name": "Chrome", "os_version": "130", "device_family": "Windows", "country": "Germany"},
}


def test_amplitude(tmp_path: Path) -> None:
    page = {
        **AMPLITUDE,
        **{"uuid": "u1", "event_type": "[Amplitude] Page Viewed", "language": "German"},
        "event_properties": {
            "[Amplitude] Page Location": "https://shop.example/a?x=1",
            "[Amplitude] Page Title": "A",
            "utm_source": "news",
        },
    }
    order = {**AMPLITUDE, "uuid": "u2", "event_type": "Order", "user_id": "user_7"}
    order |= {"session_id": -1, "event_properties": {"$revenue": 49.9, "plan": "pro"}}
    identify = {**AMPLITUDE, "uuid": "u3", "event_type": "$identify"}

    found = imported(tmp_path, json_lines(page, order, identify))

    assert found[0] == {
        "timestamp": "2026-11-01 10:00:00.123456",
        "name": "pageview",
        "eventId": "u1",
        "anonymousId": "d1",
        "sessionId": "d1.1793527200000",
        "path": "https://shop.example/a?x=1",
        "title": "A",
        "utm_source": "news",
        "browser_name": "Chrome",
        "browser_version": "130",
        "os_name": "Windows",
        "country": "DE",
    }
    assert (found[1]["name"], found[1]["anonymousId"], found[1]["profileId"]) == (
        *("Order", "d1", "user_7"),
    )
    assert found[1]["properties"] == {"revenue": 49.9, "plan": "pro"}
    assert "sessionId" not in found[1]
    assert reasons(found) == ["this is no event of a visitor: Amplitude adds '$identify' by itself"]


def test_segment_messages(tmp_path: Path) -> None:
    context = {
        "page": {"url": "https://shop.example/a", "title": "A", "referrer": "https://b.example/"},
        **{"userAgent": "Mozilla/5.0", "locale": "de-DE", "timezone": "Europe/Berlin"},
        **{"campaign": {"source": "news", "name": "spring"}, "sessionId": 5},
        "screen": {"width": 1440, "height": 900},
    }
    common = {"context": context, "anonymousId": "a1", "timestamp": "2026-11-01T10:00:00Z"}
    found = imported(
        tmp_path,
        json_lines(
            {**common, "type": "page", "messageId": "m1", "properties": {"path": "/a", "k": 1}},
            {
                **{**common, "type": "track", "messageId": "m2", "event": "Order", "userId": "u7"},
                "properties": {"revenue": 9.5, "title": "kept"},
            },
            {**common, "type": "identify", "messageId": "m3", "traits": {"plan": "pro"}},
            {**common, "type": "track", "messageId": "m4"},
            {"type": "track", "event": "x", "userId": "u7", "originalTimestamp": "2026-11-01"},
        ),
    )

    facts = {
        "timestamp": "2026-11-01T10:00:00Z",
        "anonymousId": "a1",
        "sessionId": "5",
        "path": "https://shop.example/a",
        "title": "A",
        "referrer": "https://b.example/",
        "utm_source": "news",
        "utm_campaign": "spring",
        "user_agent": "Mozilla/5.0",
        "language": "de-DE",
        "timezone": "Europe/Berlin",
        "screen_resolution": "1440x900",
    }
    assert found[0] == {**facts, "name": "pageview", "eventId": "m1", "properties": {"k": 1}}
    assert found[1] == {
        **facts,
        **{"name": "Order", "eventId": "m2", "profileId": "u7"},
        "properties": {"revenue": 9.5, "title": "kept"},
    }
    assert found[4] == {
        **{"timestamp": "2026-11-01", "name": "x", "anonymousId": "u7", "profileId": "u7"},
    }
    assert [reason[:32] for reason in reasons(found)] == [
        "this is no event: 'identify' of ",
        "a 'track' without the name of an",
    ]


ROW = {
    **{"id": "m1", "anonymous_id": "a1", "user_id": "", "received_at": "2026-11-01 10:00:05"},
    **{"original_timestamp": "2026-11-01 10:00:01", "timestamp": "2026-11-01 10:00:00"},
    **{"context_page_url": "https://shop.example/a", "context_user_agent": "Mozilla/5.0"},
}


def test_segment_and_rudderstack_rows_of_a_warehouse(tmp_path: Path) -> None:
    event = {**ROW, "event": "order_completed", "event_text": "Order Completed", "revenue": 9.5}
    page = {**ROW, "url": "https://shop.example/b", "path": "/b", "title": "B", "category": "x"}
    identify = {**ROW, "email": "a@b.example", "name": "Ann"}

    found = imported(tmp_path, json_lines(event, page, identify))

    facts = {"timestamp": "2026-11-01 10:00:00", "eventId": "m1", "anonymousId": "a1"}
    facts["user_agent"] = "Mozilla/5.0"
    assert found[0] == {
        **facts,
        **{"name": "Order Completed", "path": "https://shop.example/a"},
        "properties": {"revenue": 9.5},
    }
    assert found[1] == {
        **facts,
        **{"name": "pageview", "path": "https://shop.example/b", "title": "B"},
        "properties": {"category": "x"},
    }
    assert reasons(found)[0].startswith("this is no row of `tracks`, `pages`")
    with pytest.raises(InvalidMapping, match="no line of the file is an event; line 1: this is no"):
        imported(tmp_path, json_lines(identify))


def test_vercel(tmp_path: Path) -> None:
    common = {
        **{"schema": "vercel.analytics.v1", "timestamp": 1_793_527_200_000, "sessionId": 12345},
        **{"deviceId": 67890, "origin": "https://shop.example", "path": "/a", "country": "US"},
        **{"osName": "iOS", "clientName": "Mobile Safari", "deviceType": "mobile"},
    }
    found = imported(
        tmp_path,
        json_lines(
            {**common, "eventType": "pageview", "queryParams": "utm_source=x&b=2"},
            {**common, "eventType": "event", "eventName": "buy", "eventData": '{"plan":"pro"}'},
            {**common, "eventType": "speed"},
        ),
    )

    assert found[0] == {
        "timestamp": 1_793_527_200_000,
        "name": "pageview",
        "anonymousId": "67890",
        "sessionId": "12345",
        "path": "https://shop.example/a?utm_source=x&b=2",
        "browser_name": "Safari",
        "os_name": "iOS",
        "device_type": "mobile",
        "country": "US",
    }
    assert (found[1]["name"], found[1]["properties"]) == ("buy", {"plan": "pro"})
    assert reasons(found) == ["'speed' is no kind of Vercel that is known as an event"]


HEAP = "event_id,user_id,session_id,time,library,domain,path,query,country"


def test_heap(tmp_path: Path) -> None:
    row = ",7,8,2026-11-01 10:00:00,web,shop.example,/a,?x=1,Germany,"
    text = f"{HEAP},event_table_name\n1{row}pageviews\n2{row}signup_click\n3{row}sessions\n"

    view, click, session = imported(tmp_path, text)

    facts = {"timestamp": "2026-11-01 10:00:00", "anonymousId": "7", "sessionId": "8"}
    facts |= {"path": "https://shop.example/a?x=1", "country": "DE"}
    assert view == {**facts, "name": "pageview", "eventId": "1"}
    assert click == {**facts, "name": "signup_click", "eventId": "2"}
    assert session["invalid"] == "this is no event: Heap's table 'sessions'"
    with pytest.raises(InvalidMapping, match="add a column 'event_table_name'"):
        imported(tmp_path, f"{HEAP}\n1{row.removesuffix(',')}\n")
    with pytest.raises(InvalidMapping, match="each line is a session"):
        imported(tmp_path, "session_id,user_id,time,landing_page\n1,2,2026-11-01,/\n")


def test_jitsu_classic(tmp_path: Path) -> None:
    common = {
        **{"eventn_ctx_event_id": "e1", "utc_time": "2026-11-01T10:00:00.000000Z"},
        **{"url": "https://shop.example/a", "referer": "https://b.example/", "vp_size": "1440x570"},
        **{"user": {"anonymous_id": "a1", "id": "u7"}, "utm": {"source": "news"}},
    }
    kinds = ("pageview", "signup", "user_identify")
    found = imported(tmp_path, json_lines(*({**common, "event_type": kind} for kind in kinds)))

    assert found[0] == {
        "timestamp": "2026-11-01T10:00:00.000000Z",
        "name": "pageview",
        "eventId": "e1",
        "anonymousId": "a1",
        "profileId": "u7",
        "path": "https://shop.example/a",
        "referrer": "https://b.example/",
        "utm_source": "news",
        "viewport_size": "1440x570",
    }
    assert names(found) == ["pageview", "signup", None]


def test_jitsu_classic_of_a_table(tmp_path: Path) -> None:
    header = "eventn_ctx_event_id,utc_time,event_type,user_id,user_anonymous_id,url,utm_source\n"

    [event] = imported(
        tmp_path, f"{header}e1,2026-11-01 10:00:00,signup,u7,a1,https://shop.example/a,news\n"
    )

    assert event == {
        "timestamp": "2026-11-01 10:00:00",
        "name": "signup",
        "eventId": "e1",
        "anonymousId": "a1",
        "profileId": "u7",
        "path": "https://shop.example/a",
        "utm_source": "news",
    }


def test_zaraz(tmp_path: Path) -> None:
    system = {
        "page": {"url": {"href": "https://shop.example/a"}, "title": "A"},
        **{"misc": {"timestamp": 1_793_527_200}, "device": {"resolution": "1440x900"}},
    }
    found = imported(
        tmp_path,
        json_lines(
            {"client": {"__zarazTrack": "Pageview"}, "system": system},
            {"client": {"__zarazTrack": "buy", "value": 200}, "system": system},
            {"client": {"value": 1}, "system": system},
        ),
    )

    facts = {"timestamp": 1_793_527_200_000, "path": "https://shop.example/a", "title": "A"}
    facts["screen_resolution"] = "1440x900"
    assert found[:2] == [
        {**facts, "name": "pageview"},
        {**facts, "name": "buy", "properties": {"value": 200}},
    ]
    assert reasons(found) == ["this is no event: '__zarazTrack' of 'client' is missing"]
    with pytest.raises(InvalidMapping, match="steps of Zaraz"):
        imported(tmp_path, '{"EventType": "a", "EventDetails": {}, "TimestampStart": 1}\n')


def test_rybbit(tmp_path: Path) -> None:
    header = "timestamp,session_id,user_id,hostname,pathname,querystring,type,event_name,props\n"
    row = "2026-11-01 10:00:00,s1,v1,shop.example,/a,?x=1"
    text = (
        f'{header}{row},pageview,,\n{row},custom_event,signup,"{{""plan"":""pro""}}"\n'
        f'{row},outbound,,"{{""url"":""https://b.example/""}}"\n'
        f"{row},performance,,\n{row},error,TypeError,\n{row},custom_event,,\n"
    )

    found = imported(tmp_path, text)

    facts = {"timestamp": "2026-11-01 10:00:00", "anonymousId": "v1", "sessionId": "s1"}
    facts["path"] = "https://shop.example/a?x=1"
    assert found[:3] == [
        {**facts, "name": "pageview"},
        {**facts, "name": "signup", "properties": {"plan": "pro"}},
        {**facts, "name": "outbound_click", "properties": {"url": "https://b.example/"}},
    ]
    assert reasons(found) == [
        "this is no event: Rybbit's 'performance' is load times of a page view",
        "this is no event: Rybbit's 'error' is an error of a page",
        "'custom_event' is no kind of Rybbit that is known as an event",
    ]


def test_requests_of_bots_in_rybbit_are_refused(tmp_path: Path) -> None:
    header = "timestamp,session_id,hostname,pathname,querystring,type,detected_ua_pattern\n"

    with pytest.raises(InvalidMapping, match=r"Rybbit \(bots\): its lines are requests of bots"):
        imported(tmp_path, f"{header}2026-11-01 10:00:00,s1,shop.example,/a,,pageview,true\n")


def test_newer_databuddy_has_the_day_in_timestamp(tmp_path: Path) -> None:
    header = "id,client_id,event_name,anonymous_id,time,session_id,url,page_count,timestamp\n"
    row = "e1,c1,signup,a1,2026-11-01 10:00:00.500,s1,https://shop.example/a,1,2026-11-01 00:00:00"

    assert imported(tmp_path, f"{header}{row}\n") == [
        {
            "timestamp": "2026-11-01 10:00:00.500",
            "name": "signup",
            "eventId": "e1",
            "anonymousId": "a1",
            "sessionId": "s1",
            "path": "https://shop.example/a",
            "page_count": 1,
        }
    ]


def test_databuddy(tmp_path: Path) -> None:
    header = "id,client_id,event_name,anonymous_id,time,session_id,event_type,url,browser_name\n"
    row = "a1,2026-11-01 10:00:00.500,s1,web,https://shop.example/a,Chrome"
    text = f"{header}e1,c1,screen_view,{row}\ne2,c1,signup,{row}\ne3,c1,web_vitals,{row}\n"

    found = imported(tmp_path, text)

    facts = {"timestamp": "2026-11-01 10:00:00.500", "anonymousId": "a1", "sessionId": "s1"}
    facts |= {"path": "https://shop.example/a", "browser_name": "Chrome"}
    assert found[:2] == [
        {**facts, "name": "screen_view", "eventId": "e1"},
        {**facts, "name": "signup", "eventId": "e2"},
    ]
    assert len(reasons(found)) == 1


def test_fathom(tmp_path: Path) -> None:
    header = "datetime,hostname,pathname,event_name,completions,value,country_code\n"
    row = "2026-11-01 10:00:00,https://shop.example,/a,signup"

    one, several = imported(tmp_path, f"{header}{row},1,250,DE\n{row},3,0,DE\n")

    assert one == {
        "timestamp": "2026-11-01 10:00:00",
        "name": "signup",
        "path": "https://shop.example/a",
        "country": "DE",
        "properties": {"value": 250},
    }
    assert several["invalid"] == "the line counts 3 completions, and is not one event"
    with pytest.raises(InvalidMapping, match=r"Fathom \(page views\): its lines are totals"):
        imported(tmp_path, "datetime,pathname,pageviews,uniques\n2026-11-01,/a,3,2\n")


def test_mixpanel(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        json_lines(
            {
                "event": "$mp_web_page_view",
                "properties": {
                    **{"time": 1_793_527_200, "distinct_id": "$device:d1", "$insert_id": "i1"},
                    **{"$current_url": "https://shop.example/a", "current_page_title": "A"},
                    **{"$browser": "Chrome", "$os": "Mac OS X", "mp_country_code": "DE"},
                    **{"$screen_width": 1440, "$screen_height": 900, "current_url_path": "/a"},
                },
            },
            {
                "event": "Order",
                "properties": {
                    **{"time": 1_793_527_260, "distinct_id": "user_7", "$device_id": "d1"},
                    **{"plan": "pro", "mp_lib": "web"},
                },
            },
            {"event": "$identify", "properties": {"time": 1_793_527_261, "distinct_id": "u"}},
        ),
    )

    assert found[0] == {
        "timestamp": 1_793_527_200_000,
        "name": "pageview",
        "eventId": "i1.1793527200",
        "anonymousId": "d1",
        "path": "https://shop.example/a",
        "title": "A",
        "browser_name": "Chrome",
        "os_name": "macOS",
        "country": "DE",
        "screen_resolution": "1440x900",
    }
    assert found[1] == {
        **{"timestamp": 1_793_527_260_000, "name": "Order", "anonymousId": "d1"},
        **{"profileId": "user_7", "properties": {"plan": "pro"}},
    }
    assert reasons(found) == ["this is no event of a visitor: Mixpanel adds '$identify' by itself"]


def test_simple_analytics(tmp_path: Path) -> None:
    header = "added_iso,hostname,path,session_id,is_robot,lang_language,lang_region"
    row = "2026-11-01T10:00:00.000Z,shop.example,/a,s1,false,de,DE"

    [view] = imported(tmp_path, f"{header},duration_seconds,scrolled_percentage\n{row},12,80\n")
    [event] = imported(tmp_path, f"{header},datapoint,metadata.plan_text\n{row},signup,pro\n")

    facts: dict[str, Any] = {"timestamp": "2026-11-01T10:00:00.000Z"}
    facts |= {"anonymousId": "s1", "sessionId": "s1"}
    facts |= {"path": "https://shop.example/a", "language": "de-DE", "is_bot": False}
    assert view == {**facts, "name": "pageview", "time_on_page": 12, "scroll_depth": 80}
    assert event == {**facts, "name": "signup", "properties": {"plan": "pro"}}
    with pytest.raises(InvalidMapping, match="export the field 'datapoint'"):
        imported(tmp_path, f"{header}\n{row}\n")


@pytest.mark.parametrize("is_snake", [False, True])
def test_openpanel(tmp_path: Path, is_snake: bool) -> None:
    spelled = {"deviceId": "device_id", "sessionId": "session_id", "projectId": "project_id"}
    spelled |= {"createdAt": "created_at", "profileId": "profile_id"}
    common = {
        **{"id": "e1", "deviceId": "d1", "profileId": "d1", "sessionId": "s1", "projectId": "p"},
        **{"createdAt": "2026-11-01T10:00:00.000Z", "origin": "https://shop.example"},
        **{"path": "/a", "device": "desktop", "properties": {"__title": "A", "plan": "pro"}},
    }
    common = {spelled.get(key, key) if is_snake else key: value for key, value in common.items()}
    kinds = ("screen_view", "signup", "session_end")

    found = imported(tmp_path, json_lines(*({**common, "name": name} for name in kinds)))

    assert found[0] == {
        "timestamp": "2026-11-01T10:00:00.000Z",
        "name": "screen_view",
        "eventId": "e1",
        "anonymousId": "d1",
        "sessionId": "s1",
        "path": "https://shop.example/a",
        "title": "A",
        "device_type": "desktop",
        "properties": {"plan": "pro"},
    }
    assert names(found) == ["screen_view", "signup", None]


def test_openpanel_of_an_object_store(tmp_path: Path) -> None:
    line = {
        **{"event_id": "e1", "project_id": "p", "event_name": "signup", "user_id": "u7"},
        **{"event_time": "2026-11-01T10:00:00.000Z", "session_id": "s1", "device_id": "d1"},
        **{"properties": {"plan": "pro"}, "origin": "https://shop.example", "path": "/a"},
        **{"ingested_at": "2026-11-01T10:00:01.000Z", "schema_version": 1, "country": "DE"},
    }

    assert imported(tmp_path, json_lines(line)) == [
        {
            "timestamp": "2026-11-01T10:00:00.000Z",
            "name": "signup",
            "eventId": "e1",
            "anonymousId": "d1",
            "profileId": "u7",
            "sessionId": "s1",
            "path": "https://shop.example/a",
            "country": "DE",
            "properties": {"plan": "pro"},
        }
    ]


def test_newer_swetrix_has_sessions_and_titles(tmp_path: Path) -> None:
    header = "psid,sid,pid,pg,title,created,type\n"

    assert imported(tmp_path, f"{header}5,9,p1,/a,A,2026-11-01 10:00:00,pageview\n") == [
        {
            "timestamp": "2026-11-01 10:00:00",
            "name": "pageview",
            "anonymousId": "5",
            "sessionId": "9",
            "path": "/a",
            "title": "A",
        }
    ]


def test_swetrix(tmp_path: Path) -> None:
    header = "psid,pid,host,pg,dv,br,os,lc,ref,so,cc,created,type,event_name,meta.key,meta.value\n"
    row = "5,p1,shop.example,/a,desktop,Chrome,Mac OS,de-DE,,news,DE,2026-11-01 10:00:00"
    text = (
        f"{header}{row},pageview,,[],[]\n{row},custom_event,signup,\"['plan']\",\"['pro']\"\n"
        f"{row},performance,,[],[]\n"
    )

    found = imported(tmp_path, text)

    facts = {"timestamp": "2026-11-01 10:00:00", "anonymousId": "5", "sessionId": "5"}
    facts |= {"path": "https://shop.example/a", "utm_source": "news", "device_type": "desktop"}
    facts |= {"browser_name": "Chrome", "os_name": "macOS", "language": "de-DE", "country": "DE"}
    assert found[:2] == [
        {**facts, "name": "pageview"},
        {**facts, "name": "signup", "properties": {"plan": "pro"}},
    ]
    assert reasons(found) == ["'performance' is no kind of Swetrix that is known as an event"]


def test_a_line_with_other_columns_than_its_file_is_no_event(tmp_path: Path) -> None:
    export = {**AMPLITUDE, "event_type": "a", "uuid": "u1", "event_properties": {}}

    found = imported(tmp_path, json_lines(export, {"timestamp": 1, "url": "/"}))

    assert reasons(found) == ["the line has not the columns of Amplitude"]


def test_snowplow_as_tsv_and_as_json(tmp_path: Path) -> None:
    cells = {
        **{"app_id": "shop", "collector_tstamp": "2026-11-01 10:00:05.000", "v_collector": "3"},
        **{"derived_tstamp": "2026-11-01 10:00:00.000", "event_id": "e1", "domain_userid": "d1"},
        **{"domain_sessionid": "s1", "user_id": "u7", "page_url": "https://shop.example/a"},
        **{"page_title": 'The "A"', "geo_country": "DE", "br_viewwidth": "1440"},
        **{"br_viewheight": "900", "mkt_source": "news"},
    }
    own = {"schema": "iglu:com.acme/signup/jsonschema/1-0-0", "data": {"plan": "pro"}}
    kinds: list[dict[str, Any]] = [
        {"event": "page_view", "event_name": "page_view"},
        {"event": "struct", "se_category": "video", "se_action": "play", "se_value": "3"},
        {"event": "unstruct", "event_name": "signup", "unstruct_event": json_lines({"data": own})},
        {"event": "transaction", "tr_orderid": "o1", "tr_total": "49.9", "tr_currency": "EUR"},
        {"event": "page_ping"},
        {"event": "transaction_item"},
    ]
    rows = [{key: cell.strip() for key, cell in {**cells, **kind}.items()} for kind in kinds]
    tsv = "".join("\t".join(row.get(name, "") for name in TSV_COLUMNS) + "\n" for row in rows)

    found = imported(tmp_path, tsv)

    facts = {
        "timestamp": "2026-11-01 10:00:00.000",
        "eventId": "e1",
        "anonymousId": "d1",
        "profileId": "u7",
        "sessionId": "s1",
        "path": "https://shop.example/a",
        "title": 'The "A"',
        "country": "DE",
        "utm_source": "news",
        "viewport_size": "1440x900",
    }
    assert found[:4] == [
        {**facts, "name": "pageview"},
        {**facts, "name": "play", "properties": {"category": "video", "value": 3}},
        {**facts, "name": "signup", "properties": {"plan": "pro"}},
        {
            **{**facts, "name": "transaction"},
            "properties": {"order_id": "o1", "revenue": 49.9, "currency": "EUR"},
        },
    ]
    assert reasons(found) == [
        "this is no event: Snowplow's 'page_ping' says how long a page is read",
        "this is no event: Snowplow's 'transaction_item' is part of a transaction",
    ]
    assert imported(tmp_path, json_lines(*rows)) == found
    lake = {**rows[2], "unstruct_event": None, "unstruct_event_com_acme_signup_1": {"plan": "pro"}}
    assert imported(tmp_path, json_lines(lake)) == [found[2]]


AGENT = "Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0"


def test_access_logs(tmp_path: Path) -> None:
    text = (
        '192.0.2.7 - - [01/Nov/2026:11:00:00 +0100] "GET /a?x=1 HTTP/1.1" 200 512 '
        f'"https://news.example/" "{AGENT}"\n'
        f'192.0.2.7 - - [01/Nov/2026:11:00:00 +0100] "GET /a.css HTTP/1.1" 200 5 "-" "{AGENT}"\n'
        f'192.0.2.7 - - [01/Nov/2026:11:00:01 +0100] "POST /buy HTTP/1.1" 200 5 "-" "{AGENT}"\n'
        f'192.0.2.7 - - [01/Nov/2026:11:00:02 +0100] "GET /b HTTP/1.1" 404 5 "-" "{AGENT}"\n'
        "broken\n"
    )
    nginx = {
        **{"time_iso8601": "2026-11-01T11:00:00+01:00", "remote_addr": "192.0.2.7"},
        **{
            "request": "GET /a?x=1 HTTP/2.0",
            "status": 200,
            "http_referer": "https://news.example/",
        },
        **{"http_user_agent": AGENT},
    }
    caddy = {
        **{"level": "info", "ts": 1_793_527_200.25, "status": 200, "size": 12},
        "request": {
            **{"client_ip": "192.0.2.7", "method": "GET", "host": "shop.example"},
            **{"uri": "/a?x=1", "headers": {"User-Agent": [AGENT]}},
        },
        "resp_headers": {"Content-Type": ["text/html; charset=utf-8"]},
    }
    with_host = "shop.example:443 " + text.partition("\n")[0] + "\n"
    image = {**caddy, "resp_headers": {"Content-Type": ["image/png"]}}

    found = imported(tmp_path, text)

    view = {
        "timestamp": "2026-11-01T11:00:00+01:00",
        "name": "pageview",
        "path": "/a?x=1",
        "referrer": "https://news.example/",
        "user_agent": AGENT,
    }
    assert found[0] == view
    assert reasons(found)[:3] == [
        "this is no page view: a file of a page",
        "this is no page view: a request with POST",
        "this is no page view: answered with 404",
    ]
    assert imported(tmp_path, json_lines(nginx)) == [view]
    assert imported(tmp_path, with_host) == [{**view, "path": "https://shop.example/a?x=1"}]
    assert imported(tmp_path, json_lines(caddy, image)) == [
        {
            **{"timestamp": 1_793_527_200_250, "name": "pageview", "user_agent": AGENT},
            "path": "https://shop.example/a?x=1",
        },
        {"invalid": "this is no page: its type is image/png"},
    ]


def test_a_visitor_of_an_access_log_is_known_for_a_day() -> None:
    line = {"remote_addr": "192.0.2.7", "request": "GET /a HTTP/1.1", "status": "200"}
    mapper = ColumnMapper({}, visitor_of=lambda parts: parts)

    times = ("01T23:00:00", "01T23:29:59", "01T23:59:59", "02T00:00:00")
    found = [
        mapper.event({**line, "http_user_agent": "A", "time_iso8601": f"2026-11-{time}Z"})
        for time in times
    ]

    ids = [event["anonymousId"] for event in found]
    assert ids == [f"{day}\x00192.0.2.7\x00A" for day in (20758, 20758, 20758, 20759)]
    first, second, third, fourth = (event["sessionId"] for event in found)
    assert first == second == f"{ids[0]}.1793574000000"
    assert third != second
    assert fourth != third


def test_a_visit_of_an_access_log_goes_on_after_a_stop(tmp_path: Path) -> None:
    line = '192.0.2.7 - - [01/Nov/2026:10:%s:00 +0000] "GET /%s HTTP/1.1" 200 5\n'
    file = a_file(tmp_path, line % ("00", "a") + line % ("20", "b"))

    def sessions(since: int) -> list[str]:
        mapper = ColumnMapper({}, visitor_of=lambda parts: "v")
        check_file(file, mapper)
        return [
            msgspec.json.decode(entry.item)["sessionId"]
            for batch in request_batches(file, mapper, since)
            for entry in batch
            if isinstance(entry, PendingItem)
        ]

    assert sessions(1) == sessions(0)[1:]


def test_a_visits_log_of_matomo_as_a_table(tmp_path: Path) -> None:
    text = (
        "idVisit,visitorId,actionDetails_0_type,actionDetails_0_url,actionDetails_0_timestamp,"
        "actionDetails_1_type,actionDetails_1_eventAction,actionDetails_1_timestamp\n"
        "7,9f2c,action,https://shop.example/a,1793527200,event,play,1793527260\n"
        "8,77aa,action,https://shop.example/b,1793527300,,,\n"
    )

    found = imported(tmp_path, text)

    assert [(each["sessionId"], each["name"], each.get("path")) for each in found] == [
        ("7", "pageview", "https://shop.example/a"),
        ("7", "play", None),
        ("8", "pageview", "https://shop.example/b"),
    ]
