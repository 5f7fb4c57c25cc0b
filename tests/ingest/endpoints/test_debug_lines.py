"""Entries of `/debug`: ignored members, moved times and repeated ids of each item."""

from typing import Any

import msgspec

from ingest.endpoints.debug import DebugLines
from tests.ingest.in_memory_collector import NOW, InMemoryCollector


def remarks(collector: InMemoryCollector) -> list[dict[str, Any]]:
    """What the entries say beside the item, oldest first."""
    lines = DebugLines()
    names = ("ignored", "hint", "storedTime", "repeated")
    return [
        {name: line[name] for name in names if name in line}
        for request in reversed(collector.recent.latest("shop"))
        for line in lines.of_request(request)
    ]


def test_ignored_members_are_named(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", [{"name": "a"}, {"name": "b", "user_id": 7}])

    assert remarks(collector) == [
        {},
        {"ignored": ["user_id"], "hint": "'user_id' is ignored; did you mean 'profileId'?"},
    ]


def test_the_stored_time_is_shown_where_the_timestamp_does_not_name_it(
    collector: InMemoryCollector,
) -> None:
    items = [
        {"name": "a", "timestamp": timestamp}
        for timestamp in (NOW, NOW // 1000, 0, "2026-11-18T11:06:40Z", "2020-01-01")
    ]

    collector.post("/track?website_id=shop", items)

    assert remarks(collector) == [
        {},
        {"storedTime": "2026-11-18T11:06:40.000Z"},
        {"storedTime": "2026-11-11T11:06:40.000Z"},
        {},
        {"storedTime": "2026-11-11T11:06:40.000Z"},
    ]


def test_times_of_a_wrong_clock_are_shown_as_stored(collector: InMemoryCollector) -> None:
    ahead = [{"name": "a", "timestamp": NOW + 7_200_000 - ms} for ms in (600_000, 0)]

    assert collector.post("/track?website_id=shop", ahead).json["adjusted"] == 2
    assert [line["storedTime"] for line in remarks(collector)] == [
        "2026-11-18T10:56:40.000Z",
        "2026-11-18T11:06:40.000Z",
    ]


def test_an_event_id_that_came_before_is_marked(collector: InMemoryCollector) -> None:
    collector.post("/track?website_id=shop", {"name": "a", "eventId": "e1"})
    collector.post("/vitals?client_id=shop", [
        {"path": "/", "metricName": "LCP", "metricValue": 1, "eventId": "e1"}
    ])  # fmt: skip
    collector.post("/track?website_id=shop", [
        {"name": "b", "eventId": "e1"}, {"name": "c", "eventId": "e2"}
    ])  # fmt: skip

    assert remarks(collector) == [{}, {}, {"repeated": True}, {}]


def test_members_that_a_tracker_format_reads_are_not_ignored(collector: InMemoryCollector) -> None:
    body = {"type": "track", "name": "screen_view", "path": "/", "gclid": "x", "zzz": 1}

    reply = collector.post("/?client_id=shop", body)

    assert [one["names"] for one in reply.json["ignored"]] == [["zzz"]]
    assert [one["ignored"] for one in remarks(collector)] == [["zzz"]]


def test_items_have_their_index_in_the_request_also_beside_rejects_and_other_websites(
    collector: InMemoryCollector,
) -> None:
    items: list[dict[str, Any]] = [
        {"name": "a"},
        {"nam": "b"},
        {"name": "c", "websiteId": "blog"},
        {"name": "d"},
        {"name": "e", "websiteId": "blog"},
    ]
    collector.post("/track?website_id=shop", items, key="acme")

    def indexes(website: str) -> list[tuple[str, int]]:
        requests = reversed(collector.recent.latest(website))
        lines = [line for request in requests for line in DebugLines().of_request(request)]
        decode = msgspec.json.decode
        return [(decode(line["item"])["name"], line["index"]) for line in lines if "item" in line]

    assert indexes("shop") == [("a", 0), ("d", 3)]
    assert indexes("blog") == [("c", 2), ("e", 4)]
