"""Unknown members of items are named, with what was meant, and within bounds."""

import json
from typing import Any

import msgspec
import pytest

from ingest.decoding.decoder import Decoder
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.ignored_members import (
    MAX_LISTED_ITEMS,
    MAX_LISTED_NAMES,
    MAX_NAME_LENGTH,
    SIMILAR_FIELDS,
    ignored_members,
    wire_names,
)
from ingest.decoding.ndjson import decode_body
from schemas.kinds import (
    ALL_KINDS,
    CUSTOM_EVENT,
    IMPORTED_EVENT,
    VISITOR_IDENTITY,
    WEB_VITAL,
    Kind,
)


def ignored(kind: Kind, item: dict[str, Any]) -> tuple[list[str], str] | None:
    fields = msgspec.json.decode(json.dumps(item), type=RawFields)
    found = ignored_members(0, kind, fields)
    return None if found is None else (sorted(found.names), found.message)


@pytest.mark.parametrize(
    ("kind", "item", "advice"),
    [
        (CUSTOM_EVENT, {"user_id": "7"}, "did you mean 'profileId'?"),
        (CUSTOM_EVENT, {"url": "/a"}, "did you mean 'path'?"),
        (CUSTOM_EVENT, {"data": {}}, "did you mean 'properties'?"),
        (CUSTOM_EVENT, {"propertys": {}}, "did you mean 'properties'?"),
        (CUSTOM_EVENT, {"price": 3}, "members of your own go into 'properties'"),
        (VISITOR_IDENTITY, {"properties": {}}, "did you mean 'traits'?"),
        (WEB_VITAL, {"value": 3}, "did you mean 'metricValue'?"),
    ],
)
def test_the_field_that_was_meant_is_named(kind: Kind, item: dict[str, Any], advice: str) -> None:
    [name] = item

    assert ignored(kind, item) == ([name], f"'{name}' is ignored; {advice}")


def test_a_kind_without_free_members_says_so() -> None:
    assert ignored(WEB_VITAL, {"zzz": 1}) == (
        ["zzz"],
        "'zzz' is ignored: web_vitals has no such field",
    )


@pytest.mark.parametrize(
    "item",
    [
        {"name": "a", "anonymous_id": "u", "props": {}},
        {"name": "a", "fid": 12, "rtt": 50},
        {"name": "a", "extra": None, "props": None, "properties": {}},
    ],
    ids=["aliases", "members of supported trackers", "null"],
)
def test_what_is_stored_or_absent_is_not_named(item: dict[str, Any]) -> None:
    assert ignored(CUSTOM_EVENT, item) is None


def test_an_alias_beside_its_field_is_named() -> None:
    assert ignored(CUSTOM_EVENT, {"properties": {"a": 1}, "props": {"b": 2}}) == (
        ["props"],
        "'props' is ignored, because the item has 'properties'",
    )


def test_the_list_is_bounded() -> None:
    item = {"name": "a", **{f"{index}" + "x" * 100: 1 for index in range(100)}}

    accepted = Decoder(CUSTOM_EVENT).decode(json.dumps([item] * 100).encode())

    assert [one.index for one in accepted.ignored] == list(range(MAX_LISTED_ITEMS))
    assert {len(one.names) for one in accepted.ignored} == {MAX_LISTED_NAMES}
    assert {len(name) for name in accepted.ignored[0].names} == {MAX_NAME_LENGTH}


@pytest.mark.parametrize(
    "broken", [b'{"name":""}', b'{"name":"b","anonymous_id":"u"}'], ids=["rejected", "alias"]
)
def test_items_beside_others_are_found_by_their_index(broken: bytes) -> None:
    body = b'[{"name":"a"},' + broken + b',{"name":"c","zzz":1}]'

    accepted = Decoder(CUSTOM_EVENT).decode(body)

    assert [(one.index, one.names) for one in accepted.ignored] == [(2, ["zzz"])]


def test_a_line_of_ndjson_is_found_by_its_number() -> None:
    accepted = decode_body(Decoder(IMPORTED_EVENT), b'{"name":"a"}\nno JSON\n{"name":"c","zzz":1}')

    assert [(one.index, one.names) for one in accepted.ignored] == [(2, ["zzz"])]


def test_similar_fields_exist_in_a_kind() -> None:
    assert set(SIMILAR_FIELDS) <= {name for kind in ALL_KINDS for name in wire_names(kind.item)}
