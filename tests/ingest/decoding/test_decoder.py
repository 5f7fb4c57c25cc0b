"""The decoder: what is published unchanged, and the messages of rejects."""

import json

import msgspec
import pytest

from ingest.decoding.decoder import Decoder, RejectedItem
from schemas.errors import Malformed, NoneAccepted
from schemas.kinds import (
    CUSTOM_EVENT,
    ERROR_REPORT,
    IMPORTED_EVENT,
    KINDS,
    PAGE_ENGAGEMENT,
    WEB_VITAL,
    Kind,
)
from schemas.tables.clicks import Click
from schemas.tables.vitals import METRICS

EVENTS = Decoder(CUSTOM_EVENT)
TOO_MANY_BRACKETS = "The item has too many arrays and objects in it"
GOOD = {"name": "good"}


def reject(item: object, kind: Kind = CUSTOM_EVENT) -> str:
    """Why the item is not taken."""
    good: dict[Kind, object] = {
        WEB_VITAL: {"path": "/", "metricName": "LCP", "metricValue": 1},
        ERROR_REPORT: {"message": "m"},
        PAGE_ENGAGEMENT: {"path": "/"},
    }
    accepted = Decoder(kind).decode(json.dumps([good.get(kind, GOOD), item]).encode())
    assert accepted.indexes == [0]
    [rejected] = accepted.rejected
    assert rejected.index == 1
    return rejected.message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "'name' is required"),
        ({"name": ""}, "'name' must not be empty"),
        ({"name": "n" * 257}, "'name' must have at most 256 characters"),
        ({"name": 5}, "'name' must be a string, not an integer"),
        ({"name": None}, "'name' must be a string, not null"),
        ([], "The item must be an object, not an array"),
        ("a", "The item must be an object, not a string"),
        (GOOD | {"anonymousId": 7}, "'anonymousId' must be a string or null, not an integer"),
        (GOOD | {"time_on_page": -1}, "'time_on_page' must be at least 0"),
        (GOOD | {"interactive": "no"}, "'interactive' must be true or false or null, not a string"),
        (GOOD | {"interactive": 0}, "'interactive' must be true or false or null, not an integer"),
        (GOOD | {"scroll_depth": 101}, "'scroll_depth' must be at most 100"),
        (GOOD | {"load_time": 60_001}, "'load_time' must be at most 60,000"),
        (
            GOOD | {"timestamp": []},
            "'timestamp' must be an integer or a number or a string or null, not an array",
        ),
        (GOOD | {"timestamp": 2**63}, "'timestamp' must be at most 9,223,372,036,854,775,807"),
        (
            GOOD | {"timestamp": "now"},
            "'timestamp' must be Unix milliseconds or an ISO 8601 time",
        ),
        (GOOD | {"properties": 1}, "'properties' must be an object or null, not an integer"),
        (
            GOOD | {"properties": dict.fromkeys(map(str, range(101)))},
            "'properties' must have at most 100 keys",
        ),
        (
            GOOD | {"properties": {"k" * 129: 1}},
            "A key in 'properties' must have at most 128 characters",
        ),
        (
            GOOD | {"properties": {"a": [[[[[[[[1]]]]]]]]}},
            "'properties' may be nested at most 8 deep",
        ),
        (
            GOOD | {"properties": {"a": {"b": -(2**63) - 1}}},
            "A number in 'properties' must be at least -9,223,372,036,854,775,808",
        ),
        (
            GOOD | {"properties": {"a": [1, 2**63]}},
            "A number in 'properties' must be at most 9,223,372,036,854,775,807",
        ),
        (GOOD | {"other": "x" * 65_536}, "An item may have at most 65,536 bytes"),
        (GOOD | {"other": [[]] * 300}, TOO_MANY_BRACKETS),
        (GOOD | {"other": {str(n): {} for n in range(300)}}, TOO_MANY_BRACKETS),
    ],
)
def test_a_reject_names_the_field_and_the_rule(item: object, message: str) -> None:
    assert reject(item) == message


@pytest.mark.parametrize(
    ("kind", "item", "message"),
    [
        (
            WEB_VITAL,
            {"path": "/", "metricName": "FID", "metricValue": 1},
            "'metricName' must be one of CLS, FCP, FPS, INP, LCP, TTFB, not 'FID'",
        ),
        *(
            (
                WEB_VITAL,
                {"path": "/", "metricName": metric, "metricValue": -0.1},
                "'metricValue' must be at least 0",
            )
            for metric in METRICS
        ),
        (
            PAGE_ENGAGEMENT,
            {"path": "/", "exit_type": "crash"},
            "'exit_type' must be one of hidden, navigation, spa, unload, not 'crash'",
        ),
        (
            IMPORTED_EVENT,
            {"name": "a", "deviceType": "fridge"},
            "'deviceType' must be one of desktop, mobile, tablet, tv, not 'fridge'",
        ),
    ],
)
def test_the_message_for_an_unknown_value_lists_the_allowed_ones(
    kind: Kind, item: object, message: str
) -> None:
    assert reject(item, kind) == message


def test_a_url_is_as_long_as_an_item_may_be() -> None:
    item = GOOD | {"path": "https://shop.example/?" + "x" * 60_000}

    assert EVENTS.decode(json.dumps([item]).encode()).rejected == ()


def test_a_line_number_is_no_text() -> None:
    item = {"message": "m", "lineno": "7"}

    assert reject(item, ERROR_REPORT) == "'lineno' must be an integer or null, not a string"


@pytest.mark.parametrize(
    "properties",
    [
        None,
        {},
        {"a": [[[[[[[1]]]]]]]},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": 2**63 - 1}}}}}}},
        dict.fromkeys(map(str, range(100))),
        {"k" * 128: -(2**63), "x": 1.5, "y": True, "z": "…"},
    ],
)
def test_properties_within_the_limits_are_published_unchanged(properties: object) -> None:
    body = json.dumps(GOOD | {"properties": properties}, ensure_ascii=False).encode()

    assert EVENTS.decode(body).array == b"[" + body + b"]"


def test_a_valid_array_is_published_unchanged() -> None:
    body = b' [ {"name":"a","name":"b"} ,\n{"name":"\\u00e9\xc3\xa9","unknown":{"deep":[[1]]}}]\n'

    assert EVENTS.decode(body).array == body.strip()


def test_a_large_batch_of_small_items_is_accepted() -> None:
    item = GOOD | {"properties": {"a": {"b": "x" * 200}}}
    accepted = EVENTS.decode(json.dumps([item] * 500).encode())

    assert (len(accepted.items), accepted.rejected) == (500, [])


def test_five_hundred_and_one_items_are_too_many() -> None:
    with pytest.raises(Malformed, match="1 to 500 items; this one has 501"):
        EVENTS.decode(json.dumps([GOOD] * 501).encode())


def test_rejects_keep_their_index() -> None:
    accepted = EVENTS.decode(b'[{"nam":1},{"name":"a"},7,{"name":"b"}]')

    assert accepted.array == b'[{"name":"a"},{"name":"b"}]'
    assert list(accepted.indexes) == [1, 3]
    assert accepted.rejected == [
        RejectedItem(0, "VALIDATION_ERROR", "'name' is required"),
        RejectedItem(2, "VALIDATION_ERROR", "The item must be an object, not an integer"),
    ]


def test_the_error_has_the_message_of_the_only_invalid_item() -> None:
    with pytest.raises(NoneAccepted, match=r"No item was accepted\. 'name' is required"):
        EVENTS.decode(b"{}")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_accepted_items_decode_with_the_types_of_schemas(kind: Kind) -> None:
    fields: dict[str, object] = {"timestamp": "2026-11-21T10:00:00Z", "websiteId": "w"}
    needed: dict[str, dict[str, object]] = {
        "custom_event": {"name": "a", "properties": {"a": [1, {"b": None}]}},
        "web_vitals": {"path": "/", "metricName": "CLS", "metricValue": 0.01},
        "error": {"message": "m", "stack": "at x"},
        "click": {"slug": "spring"},
        "engagement": {"path": "/cart", "formFieldCount": 2},
        "identity": {"profileId": "p1", "traits": {"plan": "pro"}},
    }
    body = json.dumps([fields | needed[kind.name]]).encode()

    accepted = Decoder(kind).decode(body)

    [item] = msgspec.json.decode(accepted.array, type=list[kind.item])  # type: ignore[name-defined]
    assert (item.timestamp, item.website_id) == ("2026-11-21T10:00:00Z", "w")
    assert isinstance(item, Click) is (kind.name == "click")


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "a", "properties": {"n": 1}}',
        b' [{"name": "a"}, {"name": "b", "timestamp": "2026-11-18T11:06:40Z"}] ',
    ],
)
def test_a_plain_body_is_decoded_like_any_other(body: bytes) -> None:
    accepted = EVENTS.decode(body)

    assert EVENTS.decode_plain(body) == (accepted.items, accepted.array)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"7",
        b"[]",
        b'{"name": "a"}, {"name": "b"}',
        b'{"name": "a"',
        b'{"name": "a", "strange": 1}',
        b'{"name": "a", "anonymous_id": "v"}',
        b'{"name": 1}',
        b'{"name": "\xff"}',
        b'{"name": "a", "properties": {"list": [%b]}}' % b",".join([b"[]"] * 300),
        b"[%b]" % b",".join([b'{"name": "a"}'] * 501),
    ],
)
def test_a_body_with_anything_to_say_of_is_not_plain(body: bytes) -> None:
    assert EVENTS.decode_plain(body) is None


@pytest.mark.parametrize("seconds", [86_400.5, 259_200, 10**15, 1e300])
def test_a_time_on_the_page_of_days_is_cut_to_one(seconds: float) -> None:
    long = {"name": "page_exit", "properties": {"time_on_page": seconds}, "timeOnPage": seconds}

    accepted = EVENTS.decode(json.dumps([GOOD | {"time_on_page": 86_400}, long, {}]).encode())

    cut = {**long, "time_on_page": 86_400}
    del cut["timeOnPage"]
    assert msgspec.json.decode(accepted.array) == [GOOD | {"time_on_page": 86_400}, cut]
    assert (accepted.shortened, [r.index for r in accepted.rejected]) == (frozenset({1}), [2])


def test_both_times_of_engagement_are_cut() -> None:
    body = b'[{"path": "/", "timeOnPage": 90000, "activeTime": 1e5}, {"path": "/"}]'

    items = Decoder(PAGE_ENGAGEMENT).decode(body).items

    assert [(each.time_on_page, each.active_time) for each in items] == [  # type: ignore[attr-defined]
        (86_400, 86_400),
        (None, None),
    ]
