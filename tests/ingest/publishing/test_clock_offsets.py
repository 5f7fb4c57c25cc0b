"""One offset for the timestamps of a request whose sender's clock is ahead or behind."""

import pytest

from ingest.publishing import clock_offsets
from ingest.publishing.clock_offsets import ClockOffsets
from schemas.items import Item, Timestamp
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def offset(
    *timestamps: Timestamp,
    offsets: ClockOffsets | None = None,
    visitor: str | None = "v1",
    website: str | None = None,
    trusted: bool = False,
    sent_at: Timestamp = None,
    now: int = NOW,
) -> int:
    items = [
        Item(timestamp=timestamp, sent_at=sent_at, anonymous_id=visitor, website_id=website)
        for timestamp in timestamps
    ]
    return (offsets or ClockOffsets()).of_request(items, now, "shop", trusted)


@pytest.mark.parametrize(
    ("timestamps", "milliseconds"),
    [
        ((None, "no time"), 0),
        ((NOW + 5 * MINUTE, NOW - 7 * DAY), 0),
        ((NOW - 8 * DAY, NOW), 0),
        ((NOW + 2 * HOUR, NOW + HOUR, None), -2 * HOUR),
        (("2026-11-18T13:06:40Z", (NOW + HOUR) // 1000), -2 * HOUR),
        ((1000 * (NOW + 2 * HOUR), NOW - DAY), -2 * HOUR),
        ((NOW + 400_000 * DAY,), -400_000 * DAY),
        ((NOW + 8 * DAY, NOW), 0),
        ((NOW - 30 * DAY, NOW - 30 * DAY + HOUR), 23 * DAY),
        ((0, HOUR), NOW - 7 * DAY),
    ],
)
def test_a_request_is_moved_as_a_whole(
    timestamps: tuple[Timestamp, ...], milliseconds: int
) -> None:
    assert offset(*timestamps) == milliseconds


@pytest.mark.parametrize(
    ("sent_at", "timestamp", "milliseconds"),
    [
        (NOW - 2 * HOUR, NOW - 3 * HOUR, 2 * HOUR),
        (NOW + 2 * HOUR, NOW + HOUR, -2 * HOUR),
        ("2026-11-18T13:06:40Z", NOW + 4 * MINUTE, -2 * HOUR),
        (0, 0, NOW),
        (NOW - 5 * MINUTE, NOW - HOUR, 0),
        (NOW + 5 * MINUTE, NOW - HOUR, 0),
        (NOW, NOW + 2 * HOUR, -2 * HOUR),
    ],
)
def test_the_time_of_sending_shows_the_clock(
    sent_at: Timestamp, timestamp: Timestamp, milliseconds: int
) -> None:
    assert offset(timestamp, sent_at=sent_at) == milliseconds


def test_a_delayed_request_stays_before_the_newer_one() -> None:
    offsets = ClockOffsets()

    assert offset(NOW + 2 * HOUR, offsets=offsets) == -2 * HOUR
    assert offset(NOW + 110 * MINUTE, offsets=offsets, now=NOW + 900) == -2 * HOUR
    assert offset(NOW + 110 * MINUTE, offsets=offsets, visitor="v2") == -110 * MINUTE
    assert offset(NOW + 110 * MINUTE, offsets=offsets, website="blog") == -110 * MINUTE
    assert offset(NOW, offsets=offsets) == 0  # the clock was set right
    assert offset(NOW + 3 * HOUR, offsets=offsets) == -3 * HOUR
    assert offset(NOW + HOUR, offsets=offsets) == -HOUR  # more than an hour before it


def test_a_sender_without_a_visitor_id_is_not_remembered() -> None:
    offsets = ClockOffsets()

    for _ in range(2):
        assert offset(NOW + 2 * HOUR, offsets=offsets, visitor=None) == -2 * HOUR
        assert offset(NOW + 110 * MINUTE, offsets=offsets, visitor="") == -110 * MINUTE


def test_items_of_several_visitors_or_websites_are_not_moved() -> None:
    ahead, usual = NOW + 2 * HOUR, NOW - HOUR
    pairs = [
        (Item(timestamp=ahead, anonymous_id="v1"), Item(timestamp=usual, anonymous_id="v2")),
        (Item(timestamp=ahead, anonymous_id="v1"), Item(timestamp=usual)),
        (Item(sent_at=ahead, anonymous_id="v1"), Item(timestamp=usual, anonymous_id="v2")),
        (Item(timestamp=ahead, website_id="blog"), Item(timestamp=usual)),
    ]
    for trusted in (True, False):
        for pair in pairs:
            assert ClockOffsets().of_request(pair, NOW, "shop", trusted) == 0
    same = (Item(timestamp=ahead, website_id="shop"), Item(timestamp=usual, anonymous_id=""))
    assert ClockOffsets().of_request(same, NOW, "shop", trusted=False) == -2 * HOUR
    assert ClockOffsets().of_request(same, NOW, "shop", trusted=True) == 0
    assert offset(ahead, usual, trusted=True) == -2 * HOUR


def test_few_senders_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_offsets, "MAX_SENDERS", 2)
    offsets = ClockOffsets()

    for visitor in ("v1", "v2", "v1", "v3"):
        offset(NOW + 2 * HOUR, offsets=offsets, visitor=visitor)

    later = [offset(NOW + 119 * MINUTE, offsets=offsets, visitor=name) for name in ("v1", "v2")]
    assert later == [-120 * MINUTE, -119 * MINUTE]


@pytest.mark.parametrize("path", ["/track", "/batch"])
def test_the_offset_travels_in_the_envelope(collector: InMemoryCollector, path: str) -> None:
    def view(page: str, timestamp: int) -> dict[str, object]:
        return {
            "name": "screen_view",
            "path": page,
            "anonymousId": "v1",
            "timestamp": timestamp,
        }

    target, ahead = f"{path}?client_id=shop", NOW + 2 * HOUR
    newer = [view("/b", ahead - 5 * MINUTE), view("/c", ahead)]
    vital = {"type": "web_vitals", "path": "/a", "metricName": "CLS", "metricValue": 0}
    older = [view("/a", ahead - 10 * MINUTE)]
    if path == "/batch":
        older.append({**vital, "anonymousId": "v1", "timestamp": ahead - 40 * MINUTE})

    replies = [collector.post(target, body).json for body in (newer, older)]

    assert [reply["adjusted"] for reply in replies] == [2, len(older)]
    envelopes = [envelope for sent in collector.producer.sent for envelope in sent.envelopes]
    assert len(envelopes) == (3 if path == "/batch" else 2)
    assert {envelope.clock_offset_ms for envelope in envelopes} == {-2 * HOUR}
