"""What of the quarantine is sent again, repaired, and what cannot be."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from schemas.envelope import Envelope, decode_chunk, encode_chunk, encode_envelope
from schemas.kinds import CLICK, CUSTOM_EVENT, IMPORTED_EVENT, WEB_VITAL, Kind
from schemas.lake.item_changes import parse_change
from schemas.lake.quarantine_reasons import replay_id
from schemas.registry import Selector
from schemas.registry.privacy import DEFAULT_PRIVACY, Privacy
from schemas.registry.tombstones import (
    NO_TOMBSTONES,
    SubjectTombstones,
    TombstoneKey,
    Tombstones,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.recovery import quarantine_replay
from stream.recovery.ledger_balance import check_balance
from stream.recovery.quarantine_replay import ReplayPlan, ReplaySelection, plan_replay, send_replay
from stream.recovery.topic_replay import messages_at, send_messages
from stream.rows.kafka_message import KafkaMessage, open_message
from stream.rows.quarantine import (
    MAX_PAYLOAD_BYTES,
    QuarantineEntry,
    QuarantineStage,
    quarantine_rows,
)
from stream.storage.delta_commit import LakeTable
from stream.writing.backfill_writer import BACKFILL_WRITER
from stream.writing.batch_writer import BatchWriter
from stream.writing.side_tables import write_files
from stream.writing.writer_role import LIVE_WRITER
from tests.installation import eventually
from tests.stream.builders import a_message, an_envelope, rows, settings
from tests.stream.kafka_site import Site

RECEIVED_MS = now_ms() - 3_600_000
"""An hour ago."""
OWNERS = {"w1": "o1"}.get


def an_hour_ago(*items: object, **others: Any) -> Envelope:
    return an_envelope(items, received_ms=RECEIVED_MS, **others)


def receive(config: Settings, *messages: KafkaMessage, kind: Kind = CUSTOM_EVENT) -> None:
    """Write messages as the worker of their topic does."""
    role = BACKFILL_WRITER if kind is IMPORTED_EVENT else LIVE_WRITER
    BatchWriter(config, kind, Lookups(), role=role).write(messages)


def plan(
    config: Settings,
    *changes: str,
    monkeypatch: pytest.MonkeyPatch,
    in_kafka: Sequence[KafkaMessage] = (),
    privacy: Privacy = DEFAULT_PRIVACY,
    tombstones: Tombstones = NO_TOMBSTONES,
    **selection: Any,
) -> ReplayPlan:
    """The plan of a replay, where Kafka still has these messages."""

    def messages_at(
        _settings: Settings, _topic: str, positions: Iterable[tuple[int, int]]
    ) -> dict[tuple[int, int], KafkaMessage]:
        wanted = set(positions)
        return {(m.partition, m.offset): m for m in in_kafka if (m.partition, m.offset) in wanted}

    monkeypatch.setattr(quarantine_replay, "messages_at", messages_at)
    parsed = [parse_change(change) for change in changes]
    chosen = structs.replace(ReplaySelection("w1"), **selection)
    lookups = Lookups(tombstones=lambda: tombstones)
    return plan_replay(config, chosen, parsed, lookups, OWNERS, lambda _: privacy)


def problems(planned: ReplayPlan) -> list[str | None]:
    return [item.problem for item in planned.items]


def test_a_repaired_item_goes_alone_with_its_sender_and_time_of_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    bad = {"name": 7, "properties": {"total": "12"}}
    message = a_message(
        0,
        an_hour_ago({"name": "of another"}, subject_id="w2"),
        an_hour_ago({"name": "a"}, bad, trusted=True, idempotency_key="k"),
    )
    receive(config, message)
    changes = ("name = text", "properties.total = number")

    planned = plan(config, *changes, in_kafka=[message], monkeypatch=monkeypatch)

    [item] = planned.items
    assert (item.position, item.stage, item.problem) == ("events/0/0/2", "decode", None)
    assert item.has_sender
    [(partition, sent)] = planned.messages["events"]
    [envelope] = decode_chunk(sent).envelopes
    at = replay_id("events", 1, 0, 0, 2)
    repaired = {"name": "7", "properties": {"total": 12}, "eventId": at}
    assert partition == 0
    assert json.loads(envelope.items) == [repaired]
    assert structs.replace(envelope, items=b"") == an_envelope(
        b"", received_ms=RECEIVED_MS, trusted=True, replay_of=at
    )


def test_what_the_website_leaves_out_now_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    bad = {"name": 7, "anonymousId": "a", "properties": {"email": "x", "plan": "pro"}}
    agreed = {"name": 8, "consent": True, "path": "/?token=x9&b=1", "properties": {}}
    headers = {"referer": "https://a.example/?token=x9", "x-country": "DE"}
    message = a_message(0, an_hour_ago(bad, agreed, headers=headers, client_network="203.0.113.0"))
    receive(config, message)
    privacy = Privacy(
        consent="required",
        location="none",
        never_store_properties=("email",),
        never_store_query=("token",),
        mask_texts=False,
    )

    planned = plan(
        config,
        *("name = text", "sessionId = s1", "properties.email = y"),
        in_kafka=[message],
        privacy=privacy,
        monkeypatch=monkeypatch,
    )

    sent = [decode_chunk(one).envelopes[0] for _, one in planned.messages["events"]]
    items = [json.loads(envelope.items)[0] for envelope in sent]
    for item in items:
        del item["eventId"]
    assert items == [
        {"name": "7", "properties": {"plan": "pro"}},
        {**agreed, "name": "8", "sessionId": "s1", "path": "/?token=&b=1"},
    ]
    assert {(e.client_network, e.headers["referer"], e.locate, e.mask_texts) for e in sent} == {
        ("", "https://a.example/?token=", False, False)
    }


def test_an_item_without_its_request_goes_without_sender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    receive(config, a_message(0, an_hour_ago({"name": 7, "eventId": "order-7"})))

    planned = plan(config, "name = seven", monkeypatch=monkeypatch)

    assert (problems(planned), planned.items[0].has_sender) == ([None], False)
    [envelope] = decode_chunk(planned.messages["events"][0][1]).envelopes
    assert json.loads(envelope.items) == [{"name": "seven", "eventId": "order-7"}]
    assert (envelope.organization_id, envelope.received_ms) == ("o1", RECEIVED_MS)
    assert (envelope.user_agent, envelope.trusted) == ("", False)


def test_a_message_of_another_kafka_at_its_offset_is_not_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    receive(config, a_message(0, an_hour_ago({"name": 7})))
    other = a_message(0, an_envelope([{"name": "b"}], received_ms=now_ms(), trusted=True))

    planned = plan(config, "name = seven", in_kafka=[other], monkeypatch=monkeypatch)

    assert (problems(planned), planned.items[0].has_sender) == ([None], False)
    [envelope] = decode_chunk(planned.messages["events"][0][1]).envelopes
    assert (envelope.user_agent, envelope.trusted) == ("", False)


def test_an_item_that_would_fail_again_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    receive(config, a_message(0, an_hour_ago({"name": 7, "properties": {"n": "1"}}, {"name": 8})))
    failure = "fails again: Expected `str`, got `int` - at `$.name`"

    assert problems(plan(config, monkeypatch=monkeypatch)) == [failure, failure]
    planned = plan(config, "name = text", "properties.n = number", monkeypatch=monkeypatch)
    assert problems(planned) == [None, "'properties.n' has no object to be in"]
    assert planned.sendable == 1


def test_an_item_of_an_erased_visitor_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    items = ({"name": 7, "anonymousId": "ann"}, {"name": 8, "anonymousId": "bob"})
    receive(config, a_message(0, an_hour_ago(*items)))
    key = TombstoneKey("00" * 16)
    of_ann = SubjectTombstones(
        {key.tombstone(Selector.VISITOR, "ann"): "e1"}, frozenset({Selector.VISITOR})
    )

    planned = plan(
        config,
        "name = text",
        tombstones=Tombstones(key, {"w1": of_ann}),
        monkeypatch=monkeypatch,
    )

    assert problems(planned) == ["its visitor, profile or property was erased", None]
    assert planned.sendable == 1


def test_what_cannot_be_replayed_is_told_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    large = {"name": 7, "text": "x" * MAX_PAYLOAD_BYTES}
    receive(
        config,
        a_message(0, an_hour_ago(large)),
        a_message(1, an_envelope(b"no json", received_ms=RECEIVED_MS)),
        a_message(2, an_envelope(b'["text"]', received_ms=RECEIVED_MS)),
        a_message(3, an_hour_ago({"name": 7}, subject_id="gone")),
    )
    line = an_hour_ago({"name": 7, "line": 1}, import_id="i1")
    receive(config, a_message(0, line), kind=IMPORTED_EVENT)

    planned = plan(config, "name = a", website=None, monkeypatch=monkeypatch)

    assert {item.position: item.problem for item in planned.items} == {
        "events/0/0/0": "its contents were cut at 64 KiB",
        "events/0/1/0": "its contents are not JSON",
        "events/0/2/0": "its contents are not one item",
        "events/0/3/0": "the website or link gone does not exist",
        "backfill/0/0/0": "a line of an import: correct the file and import it again",
    }
    assert planned.sendable == 0


@pytest.mark.parametrize("kind", [CLICK, WEB_VITAL], ids=lambda kind: kind.topic)
def test_an_item_of_any_table_is_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    config = settings(tmp_path)
    bad = {"slug": "s", "metricName": "LCP", "metricValue": 1, "path": "/", "anonymousId": 7}
    receive(config, a_message(0, an_hour_ago(bad)), kind=kind)

    planned = plan(config, "anonymousId = text", monkeypatch=monkeypatch)
    [(partition, sent)] = planned.messages[kind.topic]
    for offset in (1, 2):
        message = open_message(partition, offset, now_ms(), sent)
        receive(config, message, kind=kind)

    assert rows(config, kind.table, "event_id") == [(replay_id(kind.topic, 1, 0, 0, 0),)]
    assert plan(config, "anonymousId = text", monkeypatch=monkeypatch).items == []
    assert list(check_balance(config)) == []


def test_at_most_so_many_items_are_tried_the_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    monkeypatch.setattr(quarantine_replay, "MAX_ITEMS", 2)
    receive(config, a_message(0, an_hour_ago({"name": 1}, {"name": 2})))
    receive(config, a_message(1, an_envelope([{"name": 3}], received_ms=RECEIVED_MS - 1)))

    planned = plan(config, "name = text", monkeypatch=monkeypatch)

    names = [item.item["name"] for item in planned.items if item.item]
    assert (names, planned.sendable, planned.remaining) == (["3", "1"], 2, 1)


def test_items_are_selected_by_website_stage_reason_and_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path)
    receive(
        config,
        a_message(0, an_hour_ago({"name": 7}, {"name": "a", "path": 8})),
        a_message(1, an_hour_ago({"name": 7}, subject_id="w2")),
    )
    at_ms = now_ms() - 9 * 86_400_000
    old = QuarantineEntry(QuarantineStage.ENRICH, "old", b"{}", at_ms, 0, 2, 0, "w1")
    table = LakeTable(config, QUARANTINE)
    table.commit(write_files(table, quarantine_rows("events", 0, [old])), {})

    def positions(**selection: Any) -> list[str]:
        planned = plan(config, monkeypatch=monkeypatch, **selection)
        return [item.position.removeprefix("events/0/") for item in planned.items]

    assert positions() == ["0/0", "0/1"]
    assert positions(days=10) == ["2/0", "0/0", "0/1"]
    assert positions(website="w2") == ["1/0"]
    assert positions(reason_contains="$.path") == ["0/1"]
    assert positions(stage="enrich", days=10) == ["2/0"]
    assert positions(website=None, position="events/0/0/1") == ["0/1"]


def test_a_replay_on_a_broker_is_stored_once_however_often_it_is_sent(site: Site) -> None:
    config = site.settings
    site.create_topics(partitions=2)
    site.send("a")
    bad = an_hour_ago({"name": "b"}, {"name": 7}, {"name": [8]})
    site.send_chunks([encode_chunk([encode_envelope(bad)])], partition=1)
    site.start()
    eventually(lambda: site.stored() == ["a", "b"], seconds=60)
    changes = [parse_change("name = text")]

    planned = plan_replay(config, ReplaySelection("w1"), changes, Lookups(), OWNERS)
    assert (problems(planned), planned.sendable) == ([None, None], 2)
    assert [item.has_sender for item in planned.items] == [True, True]
    assert send_replay(config, planned) == 2
    eventually(lambda: len(site.stored()) == 4)
    again = plan_replay(config, ReplaySelection("w1"), changes, Lookups(), OWNERS)
    send_replay(config, planned)  # as by a command that was killed before it could tell
    eventually(lambda: stages(config).count("duplicate") == 2)

    assert again.items == []
    assert site.stored() == ["7", "[8]", "a", "b"]
    replayed = rows(config, EVENTS, "name", "browser_name", "received_at")[:2]
    assert [browser for _, browser, _ in replayed] == ["Chrome", "Chrome"]
    assert {round(at.timestamp() * 1000) for *_, at in replayed} == {RECEIVED_MS}
    assert sorted(stages(config)) == [*["decode"] * 2, *["duplicate"] * 2, *["replayed"] * 2]
    counts = rows(config, LEDGER, "received", "stored", "duplicate", "quarantined")
    assert tuple(map(sum, zip(*counts, strict=True))) == (6, 4, 2, 0)
    assert site.stop() == 0
    assert list(check_balance(config)) == []


def test_a_topic_made_anew_with_fewer_partitions_takes_replays(site: Site) -> None:
    site.create_topics(partitions=2)
    body = encode_chunk([encode_envelope(an_hour_ago({"name": "a"}))])

    before = messages_at(site.settings, site.topic, [(4, 0), (1, 0)])
    send_messages(site.settings, site.topic, [(5, body)])
    after = messages_at(site.settings, site.topic, [(4, 0), (1, 0)])

    assert (before, list(after)) == ({}, [(1, 0)])


def stages(config: Settings) -> list[str]:
    return [stage for (stage,) in rows(config, QUARANTINE, "stage")]
