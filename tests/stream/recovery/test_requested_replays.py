"""Replays that callers request: tried, sent, continued by the next keeper after a kill."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.registry import (
    Backups,
    Erasure,
    Organization,
    RegistryStore,
    Replay,
    ReplayState,
    Selector,
    Website,
)
from schemas.registry.backups import read_backup, write_backup
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.recovery import quarantine_replay, requested_replays
from stream.recovery.requested_replays import KAFKA_AWAY, RequestedReplays
from stream.rows.kafka_message import open_message
from stream.runtime.errors import Unreachable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, an_envelope, rows, settings

RECEIVED_MS = now_ms() - 3_600_000
STAMPS: dict[str, Any] = {"created_at": RECEIVED_MS, "updated_at": RECEIVED_MS}
VISITOR: dict[str, Any] = {"selector": Selector.VISITOR, "value_hashes": ()}
SECRET = "what-a-visitor-typed"
ITEMS = ({"name": 7, "properties": {"a": SECRET}}, {"name": 8, "path": 9})
REPORT = {"items": 2, "sendable": 1, "withoutSender": 1, "remaining": 0}


class Broker:
    """What was sent, and the worker that stores it when told to."""

    def __init__(self, config: Settings) -> None:
        self._writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
        self._waiting: list[bytes] = []
        self._next = 1
        self.sent = 0
        self.is_away = False

    def send(self, _settings: Settings, _topic: str, sent: Sequence[tuple[int, bytes]]) -> None:
        if self.is_away:
            raise Unreachable("Kafka at k:1 does not answer")
        self.sent += len(sent)
        self._waiting += [body for _, body in sent]

    def store(self) -> None:
        for body in self._waiting:
            self._writer.write([open_message(0, self._next, now_ms(), body)])
            self._next += 1
        self._waiting.clear()


@pytest.fixture
def config(tmp_path: Path, new_registry: Path) -> Settings:
    """A website with two quarantined items, of which `name = text` mends one."""
    config = settings(tmp_path)
    shutil.copy(new_registry, config.registry_url.removeprefix("sqlite:///"))
    store = RegistryStore(config.registry_url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(Website(id="w1", organization_id="o1", domain="a.example", **STAMPS))
    message = a_message(0, an_envelope(ITEMS, received_ms=RECEIVED_MS))
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([message])
    return config


@pytest.fixture
def broker(config: Settings, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """A Kafka that has no older messages."""
    broker = Broker(config)
    monkeypatch.setattr(quarantine_replay, "messages_at", lambda *_: {})
    monkeypatch.setattr(quarantine_replay, "send_messages", broker.send)
    return broker


def request(config: Settings, state: ReplayState = ReplayState.PENDING) -> RegistryStore:
    store = RegistryStore(config.registry_url)
    fields: Any = {"website_id": "w1", "days": 7, "item_changes": ("name = text",), "state": state}
    store.create(Replay(id="r", organization_id="o1", **fields, **STAMPS))
    return store


def test_a_replay_that_was_killed_while_it_sent_stores_each_item_once(
    config: Settings, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = request(config)
    update = RegistryStore.update

    def killed(self: RegistryStore, *arguments: Any, **changes: Any) -> Any:
        if changes["state"] is ReplayState.SENT:
            raise KeyboardInterrupt
        return update(self, *arguments, **changes)

    monkeypatch.setattr(RegistryStore, "update", killed)
    with pytest.raises(KeyboardInterrupt):
        RequestedReplays(config).run_cycle()
    monkeypatch.setattr(RegistryStore, "update", update)
    before = store.get(Replay, "r")
    problem = RequestedReplays(config).run_cycle()
    broker.store()

    assert (before.state, before.report, problem) == (ReplayState.SENDING, REPORT, "")
    after = store.get(Replay, "r")
    assert (after.state, after.report, broker.sent) == (ReplayState.SENT, REPORT, 2)
    assert rows(config, EVENTS, "name") == [("7",)]
    assert after.planned_items["outcomes"][1]["problem"] == (
        "fails again: Expected `str | null`, got `int` - at `$.path`"
    )


def test_while_kafka_is_away_a_replay_waits_and_says_so(config: Settings, broker: Broker) -> None:
    store, replays = request(config), RequestedReplays(config)
    broker.is_away = True

    problem = replays.run_cycle()
    waiting = store.get(Replay, "r")
    broker.is_away = False
    replays.run_cycle()

    assert problem == "Kafka at k:1 does not answer"
    assert (waiting.state, waiting.report) == (
        ReplayState.SENDING,
        {**REPORT, "problem": KAFKA_AWAY},
    )
    assert (store.get(Replay, "r").report, broker.sent) == (REPORT, 1)


@pytest.mark.parametrize("is_erasing", [False, True])
def test_a_dry_run_sends_nothing_and_its_items_are_kept_for_an_hour_or_until_an_erasure(
    config: Settings,
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_erasing: bool,
) -> None:
    store, replays = request(config, ReplayState.PLANNING), RequestedReplays(config)

    replays.run_cycle()
    planned = store.get(Replay, "r")
    backup = write_backup(store, Backups(tmp_path / "backups"), now_ms())
    trail = msgspec.json.encode(store.changes(10))
    if is_erasing:
        store.create(Erasure(id="e", organization_id="o1", **VISITOR, **STAMPS))
    else:
        monkeypatch.setattr(requested_replays, "KEEP_ITEMS_MS", -1)
    RequestedReplays(config).run_cycle()

    assert (planned.state, planned.report, broker.sent) == (ReplayState.PLANNED, REPORT, 0)
    assert SECRET in planned.planned_items["samples"][0]["item"]
    assert backup is not None
    assert SECRET.encode() not in trail + backup.read_bytes()
    assert read_backup(backup).contents.replays[0].report == REPORT
    assert store.get(Replay, "r").planned_items == {}
