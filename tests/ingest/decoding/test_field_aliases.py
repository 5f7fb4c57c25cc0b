"""Field aliases: both names are accepted, published items have wire names."""

import json
from typing import Any

import pytest

from ingest.decoding.decoder import Decoder
from ingest.decoding.field_aliases import OTHER_PRODUCTS_NAMES, alias_of, aliases_of
from schemas.kinds import CUSTOM_EVENT, ERROR_REPORT, KINDS, PAGE_ENGAGEMENT, WEB_VITAL, Kind


def decoded(kind: Kind, item: dict[str, Any]) -> Any:
    return json.loads(Decoder(kind).decode(json.dumps([item]).encode()).array)[0]


@pytest.mark.parametrize(
    ("kind", "aliased", "expected"),
    [
        (
            CUSTOM_EVENT,
            {"name": "a", "anonymous_id": "u", "session_id": "s", "event_id": "e"},
            {"name": "a", "anonymousId": "u", "sessionId": "s", "eventId": "e"},
        ),
        (
            CUSTOM_EVENT,
            {"name": "a", "utmSource": "x", "timeOnPage": 3, "profile_id": "p"},
            {"name": "a", "utm_source": "x", "time_on_page": 3, "profileId": "p"},
        ),
        (
            WEB_VITAL,
            {"path": "/", "metric_name": "LCP", "metric_value": 1.5},
            {"path": "/", "metricName": "LCP", "metricValue": 1.5},
        ),
        (
            CUSTOM_EVENT,
            {"event": "a", "props": {"plan": "pro"}},
            {"name": "a", "properties": {"plan": "pro"}},
        ),
        (
            CUSTOM_EVENT,
            {"eventName": "a", "event_properties": {"plan": "pro"}},
            {"name": "a", "properties": {"plan": "pro"}},
        ),
        (ERROR_REPORT, {"message": "m", "error_type": "E"}, {"message": "m", "errorType": "E"}),
        (PAGE_ENGAGEMENT, {"path": "/", "active_time": 2}, {"path": "/", "activeTime": 2}),
    ],
)
def test_an_alias_becomes_the_wire_name(
    kind: Kind, aliased: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert decoded(kind, aliased) == expected


@pytest.mark.parametrize(
    ("wire", "spelled", "value"), [("a", "b", "a"), (None, "b", "b"), ("a", None, "a")]
)
def test_the_wire_name_wins_unless_it_is_null(wire: object, spelled: object, value: object) -> None:
    item = {"name": "x", "anonymousId": wire, "anonymous_id": spelled}

    assert decoded(CUSTOM_EVENT, item) == {"name": "x", "anonymousId": value}


def test_messages_have_the_alias_that_was_sent() -> None:
    body = b'[{"name":"a"},{"name":"b","anonymous_id":7},{"name":"c","anonymousId":7},{"nam":1}]'
    accepted = Decoder(CUSTOM_EVENT).decode(body)

    assert [reject.message for reject in accepted.rejected] == [
        "'anonymous_id' must be a string or null, not an integer",
        "'anonymousId' must be a string or null, not an integer",
        "'name' is required",
    ]


def test_names_inside_properties_are_not_aliases() -> None:
    body = b'[{"name":"a","properties":{"session_id":"s","utmSource":"x"}}]'

    assert Decoder(CUSTOM_EVENT).decode(body).array == body


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_name_of_two_words_has_an_alias(kind: Kind) -> None:
    names = kind.item.__struct_encode_fields__

    others = {"url", *OTHER_PRODUCTS_NAMES}
    spelled = {old: name for old, name in aliases_of(kind.item).items() if old not in others}
    assert {alias_of(name) for name in names} - set(names) == set(spelled)
    assert all(alias_of(old) == name for old, name in spelled.items())
