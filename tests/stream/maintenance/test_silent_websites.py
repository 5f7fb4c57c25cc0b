"""A website that stopped sending is counted once its silence is longer than its pauses."""

import shutil
import threading
from pathlib import Path

import pytest
from msgspec import structs

from schemas.kinds import CUSTOM_EVENT
from schemas.registry import RegistryStore, validation
from schemas.telemetry.instruments import SILENT_WEBSITES
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import silent_websites as silent
from stream.maintenance.silent_websites import HOUR_MS, silent_since, watch_websites
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, settings


def hours(*ago: int) -> list[int]:
    return [NOON_MS - hour * HOUR_MS for hour in ago]


@pytest.mark.parametrize(
    ("sent", "is_silent"),
    [
        (hours(*range(3, 40)), False),  # its last hour ended two hours ago
        (hours(*range(5, 40)), True),
        (hours(*range(5, 28)), False),  # 23 hours: too few to be regular
        (hours(*range(13, 30), *range(36, 50)), False),  # silent for 12 hours, before for 6
        (hours(*range(14, 30), *range(36, 50)), True),
        ([], False),
    ],
)
def test_a_silence_is_unusual_when_it_is_twice_the_longest_pause(
    sent: list[int], is_silent: bool
) -> None:
    since = silent_since(sent, NOON_MS)

    assert since == (max(sent) + HOUR_MS if is_silent else None)


def test_silent_websites_of_the_registry_are_counted_and_logged_once(
    tmp_path: Path,
    new_registry: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = settings(tmp_path)
    shutil.copy(new_registry, tmp_path)
    store = RegistryStore(config.registry_url)
    owner = store.create(validation.new_organization("Acme", "free", NOON_MS))
    for website_id in ("stopped", "sends"):
        website = validation.new_website(owner.id, f"{website_id}.example", NOON_MS)
        store.create(structs.replace(website, id=website_id))
    store.close()
    sent = {"stopped": range(5, 40), "deleted": range(5, 40), "sends": range(40)}
    envelopes = [
        an_envelope([{"name": "a"}], subject_id=website_id, received_ms=hour)
        for website_id, ago in sent.items()
        for hour in hours(*ago)
    ]
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(0, *envelopes)])
    monkeypatch.setattr(silent, "now_ms", lambda: NOON_MS)
    monkeypatch.setattr(silent, "INTERVAL_SECONDS", 0.0)
    twice = iter((False, True))
    monkeypatch.setattr(stop := threading.Event(), "wait", lambda _: next(twice))

    watch_websites(config, stop)

    [record] = [r.__dict__ for r in caplog.records if r.getMessage() == "website stopped sending"]
    assert (record["website"], record["since"]) == ("stopped", "2026-11-21T08:00:00.000Z")
    assert SILENT_WEBSITES._value.get() == 1
