"""An erased visitor, profile, session or property value is in no table, and stays away."""

import base64
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import (
    CLICK,
    CUSTOM_EVENT,
    ERROR_REPORT,
    IMPORTED_EVENT,
    VISITOR_IDENTITY,
    lake_tables,
)
from schemas.lake.retention import TableRetention
from schemas.registry import (
    Erasure,
    ErasureState,
    Link,
    Organization,
    RegistryStore,
    Selector,
    Snapshot,
    Website,
)
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, ERRORS, EVENTS, IDENTITIES, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import erasure
from stream.maintenance.derivation import Derivation
from stream.maintenance.erasure import ErasureTask
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.vacuum import apply_retention
from stream.recovery import lost_rows
from stream.recovery.file_repair import repair
from stream.recovery.ledger_balance import check_balance
from stream.storage.delta_commit import LakeTable
from stream.writing.backfill_writer import BACKFILL_WRITER
from stream.writing.batch_writer import BatchWriter
from tests.registries import make_registry
from tests.s3.server import S3Server
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings

STAMPS: dict[str, Any] = {"created_at": NOON_MS, "updated_at": NOON_MS}
ID = "visitor-to-forget"
EVENT_ITEMS: list[dict[str, Any]] = [
    {"name": "a", "anonymousId": ID, "sessionId": "s1"},
    {"name": "b", "anonymousId": "v2", "sessionId": "s2", "properties": {"email": "a@b.example"}},
    {"name": "c", "anonymousId": "v3", "sessionId": "s3", "profileId": "p1"},
    {"name": "d", "anonymousId": "v4", "sessionId": "s4", "properties": {"count": 7}},
]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Websites w1 and w2 with the same four events each, and their visitors' profiles."""
    return filled(settings(tmp_path), monkeypatch)


def filled(config: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(erasure, "SETTLE_MS", -1)  # no worker runs that could be behind
    make_registry(config.registry_url)
    store = RegistryStore(config.registry_url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    for name in ("w1", "w2"):
        store.create(Website(id=name, organization_id="o1", domain="a.example", **STAMPS))
    write(config, EVENT_ITEMS)
    identities = [
        {"profileId": "p1", "anonymousId": "v2", "traits": {"email": "a@b.example"}},
        {"profileId": "p1", "anonymousId": "v4"},
        {"profileId": "p2", "anonymousId": "v4", "timestamp": NOON_MS + 1_000},
    ]
    writer = BatchWriter(config, VISITOR_IDENTITY, Lookups())
    writer.write([a_message(0, an_envelope(identities))])
    return config


def lookups_of(config: Settings) -> Lookups:
    """With the tombstones of the registry."""
    store = RegistryStore(config.registry_url)
    return Lookups(tombstones=lambda: Snapshot.read(store).tombstones)


def write(config: Settings, items: Sequence[Any], offset: int = 0) -> None:
    writer = BatchWriter(config, CUSTOM_EVENT, lookups_of(config))
    of_both = [an_envelope(items, subject_id=website) for website in ("w1", "w2")]
    writer.write([a_message(offset, *of_both)])


def erase(config: Settings, selector: Selector, value: str, name: str = "", **owner: Any) -> None:
    store = RegistryStore(config.registry_url)
    key = store.tombstone_key()
    record = Erasure(
        id="er1",
        organization_id="o1",
        selector=selector,
        property_name=name,
        value_hashes=(key.tombstone(selector, value, name),),
        erased_values=(f"{selector}:{value}",),
        **(owner or {"website_id": "w1"}),
        **STAMPS,
    )
    store.create(record)


def cycle(config: Settings, task: ErasureTask, cycles: int = 1) -> Erasure:
    for _ in range(cycles):
        for table in lake_tables():
            task(LakeTable(config, table), config)
            Derivation()(LakeTable(config, table), config)
    return RegistryStore(config.registry_url).get(Erasure, "er1")


def events(config: Settings) -> list[str]:
    """Website and name of each event."""
    return [f"{website} {name}" for website, name in rows(config, EVENTS, "website_id", "name")]


W2 = ["w2 a", "w2 b", "w2 c", "w2 d"]


@pytest.mark.parametrize(
    ("selector", "value", "name", "left"),
    [
        (Selector.VISITOR, ID, "", ["w1 b", "w1 c", "w1 d"]),
        (Selector.SESSION, "s3", "", ["w1 a", "w1 b", "w1 d"]),
        (Selector.PROPERTY, "a@b.example", "email", ["w1 a", "w1 c", "w1 d"]),
        (Selector.PROPERTY, "7", "count", ["w1 a", "w1 b", "w1 c"]),
        (Selector.PROPERTY, "7", "email", ["w1 a", "w1 b", "w1 c", "w1 d"]),
        # v4 was identified as p2 later, so v2 alone is a device of p1; c names the profile itself.
        (Selector.PROFILE, "p1", "", ["w1 a", "w1 d"]),
    ],
)
def test_rows_of_the_website_that_match_are_removed(
    config: Settings, selector: Selector, value: str, name: str, left: list[str]
) -> None:
    erase(config, selector, value, name)

    record = cycle(config, ErasureTask(), 2)

    assert events(config) == [*left, *W2]
    assert record.state is ErasureState.REWRITTEN
    assert record.report["rows"].get("events", 0) == 4 - len(left)
    assert list(check_balance(config)) == []


def test_errors_with_an_erased_property_are_removed(config: Settings) -> None:
    reports = [
        {"message": "her", "properties": {"email": "a@b.example"}},
        {"message": "other", "properties": {"email": "c@d.example"}},
        {"message": "none"},
    ]
    writer = BatchWriter(config, ERROR_REPORT, lookups_of(config))
    writer.write([a_message(0, an_envelope(reports, subject_id="w1"))])
    erase(config, Selector.PROPERTY, "a@b.example", "email")

    record = cycle(config, ErasureTask(), 2)
    again = [a_message(1, an_envelope(reports[:1], subject_id="w1"))]
    BatchWriter(config, ERROR_REPORT, lookups_of(config)).write(again)

    assert sorted(rows(config, ERRORS, "message")) == [("none",), ("other",)]
    assert record.report["rows"]["errors"] == 1
    assert list(check_balance(config)) == []


def test_an_erasure_of_the_organization_is_of_all_its_websites(config: Settings) -> None:
    erase(config, Selector.VISITOR, ID, website_id=None)

    record = cycle(config, ErasureTask(), 2)

    assert events(config) == [f"{website} {name}" for website in ("w1", "w2") for name in "bcd"]
    assert record.report["rows"] == {"events": 2}


@pytest.mark.parametrize(
    ("owner", "left"),
    [({"link_id": "l1"}, ["l2"]), ({"link_id": "l2"}, ["l1"]), ({"website_id": None}, [])],
    ids=["the link", "another", "the organization"],
)
def test_clicks_are_erased_of_a_link_or_the_organization(
    config: Settings, owner: dict[str, Any], left: list[str]
) -> None:
    store = RegistryStore(config.registry_url)
    for name in ("l1", "l2"):
        more: dict[str, Any] = {"target_url": "https://a.example/", "slug": name, **STAMPS}
        store.create(Link(id=name, organization_id="o1", name=name, **more))
    clicks = [an_envelope([{"slug": n, "anonymousId": ID}], subject_id=n) for n in ("l1", "l2")]
    BatchWriter(config, CLICK, Lookups()).write([a_message(0, *clicks)])
    erase(config, Selector.VISITOR, ID, **owner)

    cycle(config, ErasureTask(), 2)

    assert [link for (link,) in rows(config, CLICKS, "link_id")] == left
    assert list(check_balance(config)) == []


def test_a_profile_is_erased_with_its_identities_and_their_visitors(config: Settings) -> None:
    erase(config, Selector.PROFILE, "p1")

    record = cycle(config, ErasureTask(), 2)

    assert rows(config, IDENTITIES, "profile_id", "anonymous_id") == [("p2", "v4")]
    assert record.report["visitors"] == 1
    assert record.report["rows"] == {"events": 2, "identities": 2}
    assert record.erased_values == ("profile:p1", "device:v2")


def test_rows_of_a_shared_device_that_name_another_profile_stay(config: Settings) -> None:
    items = [
        {"name": "e", "anonymousId": "v4", "profileId": "p1"},
        {"name": "f", "anonymousId": "v4", "profileId": "p2"},
    ]
    write(config, items, offset=1)
    erase(config, Selector.PROFILE, "p2")

    cycle(config, ErasureTask(), 2)

    assert events(config) == ["w1 a", "w1 b", "w1 c", "w1 e", *W2, "w2 e", "w2 f"]
    assert ("p1", "v4") in rows(config, IDENTITIES, "profile_id", "anonymous_id")

    write(config, [*items, {"name": "g", "anonymousId": "v4"}], offset=2)
    assert [name for name in events(config) if name[:2] == "w1"] == [
        "w1 a", "w1 b", "w1 c", "w1 e", "w1 e",
    ]  # fmt: skip
    assert list(check_balance(config)) == []


def test_a_profile_that_is_erased_during_a_cycle_loses_its_visitors(config: Settings) -> None:
    task = ErasureTask()
    tables = lake_tables()
    of_events = tables.index(EVENTS)
    for table in tables[: of_events + 1]:
        task(LakeTable(config, table), config)
    erase(config, Selector.PROFILE, "p1")
    for table in tables[of_events + 1 :]:
        task(LakeTable(config, table), config)

    record = cycle(config, task, 2)

    assert events(config) == ["w1 a", "w1 d", *W2]
    assert record.report["visitors"] == 1


def test_items_that_are_sent_later_are_dropped_and_counted(config: Settings) -> None:
    erase(config, Selector.VISITOR, ID)
    cycle(config, ErasureTask(), 2)

    write(config, EVENT_ITEMS, offset=1)

    assert events(config) == [
        *[f"w1 {name}" for name in "bbccdd"],
        *[f"w2 {name}" for name in "aabbccdd"],
    ]
    dropped = rows(config, LEDGER, "subject_id", "received", "stored", "dropped", "drop_reason")
    assert ("w1", 4, 3, 1, "erased") in dropped
    assert list(check_balance(config)) == []


def test_imported_items_are_dropped(config: Settings) -> None:
    erase(config, Selector.VISITOR, ID)
    lookups = lookups_of(config)
    writer = BatchWriter(config, IMPORTED_EVENT, lookups, role=BACKFILL_WRITER)
    items = [{**item, "timestamp": NOON_MS, "line": line} for line, item in enumerate(EVENT_ITEMS)]

    result = writer.write([a_message(0, an_envelope(items, import_id="i1"))])

    assert result.rows == 3
    dropped = rows(config, LEDGER, "topic", "received", "stored", "dropped", "drop_reason")
    assert ("backfill", 4, 3, 1, "erased") in dropped


def test_a_repair_does_not_bring_rows_back(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config, [{"name": "e", "anonymousId": "v5"}], offset=1)
    erase(config, Selector.VISITOR, ID, website_id=None)
    cycle(config, ErasureTask(), 2)
    table = LakeTable(config, EVENTS)
    damaged = min(live_data_files(table.handle, EVENTS), key=lambda file: file.rows)
    (Path(config.lake_url) / "events" / damaged.path).unlink()
    of_both = [an_envelope(EVENT_ITEMS, subject_id=website) for website in ("w1", "w2")]
    lost = an_envelope([{"name": "e", "anonymousId": "v5"}], subject_id="w1")
    lost_too = an_envelope([{"name": "e", "anonymousId": "v5"}], subject_id="w2")
    in_kafka = [a_message(0, *of_both), a_message(1, lost, lost_too)]
    monkeypatch.setattr(lost_rows, "topic_identity", lambda *_: None)
    monkeypatch.setattr(lost_rows, "replay", lambda *given: given[-1](in_kafka))

    repaired = repair(config, f"events/{damaged.path}", lookups_of(config))

    assert (repaired.recovered, repaired.lost) == (2, 0)
    assert events(config) == [f"{website} {name}" for website in ("w1", "w2") for name in "bcde"]
    assert list(check_balance(config)) == []


def test_an_erasure_between_the_commits_of_a_batch_is_counted_once(config: Settings) -> None:
    class Killed(Exception):
        pass

    def after_ledger(step: str) -> None:
        if step == "ledger":
            raise Killed

    message = a_message(1, an_envelope(EVENT_ITEMS))
    with pytest.raises(Killed):
        BatchWriter(config, CUSTOM_EVENT, Lookups(), after_ledger).write([message])
    erase(config, Selector.VISITOR, ID)
    lookups = lookups_of(config)
    with pytest.raises(Killed):
        BatchWriter(config, CUSTOM_EVENT, lookups, after_ledger).write([message])

    BatchWriter(config, CUSTOM_EVENT, lookups).write([message])

    assert events(config).count("w1 a") == 1  # that from before, which the keeper removes
    assert list(check_balance(config)) == []


def test_rows_of_a_worker_that_did_not_know_yet_are_removed_by_a_later_search(
    config: Settings,
) -> None:
    erase(config, Selector.VISITOR, ID)
    task = ErasureTask()
    cycle(config, task)
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(1, an_envelope(EVENT_ITEMS))])

    states = [cycle(config, task).state for _ in range(2)]

    assert states == [ErasureState.PENDING, ErasureState.REWRITTEN]
    assert "w1 a" not in events(config)
    assert RegistryStore(config.registry_url).get(Erasure, "er1").report["rows"] == {"events": 2}


def test_an_erasure_waits_until_derived_tables_have_followed(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their replaced files would be younger than those that the erasure deletes at its end."""
    erase(config, Selector.VISITOR, ID)
    task = ErasureTask()
    has_outdated = iter((True, False))
    monkeypatch.setattr(
        ErasureTask, "_has_outdated_derived_files", lambda *_: next(has_outdated, False)
    )

    states = [cycle(config, task).state for _ in range(3)]

    assert states == [ErasureState.PENDING, ErasureState.PENDING, ErasureState.REWRITTEN]


@pytest.mark.parametrize(
    ("bad", "removed"),
    [
        ({"name": 7, "anonymousId": ID}, {"events": 1, "quarantine": 1}),
        ({"name": "too long", "anonymousId": "v" * 257}, {"quarantine": 1}),
    ],
    ids=["an id of rows", "an id that is too long for rows"],
)
def test_quarantined_items_stay_as_entries_without_payload(
    config: Settings, bad: dict[str, Any], removed: dict[str, int]
) -> None:
    visitor = bad["anonymousId"]
    for website in ("w1", "w2"):
        body = an_envelope([bad], subject_id=website)
        BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(1 + (website == "w2"), body)])
    before = [base64.b64decode(text) for (text,) in rows(config, QUARANTINE, "payload")]
    erase(config, Selector.VISITOR, visitor)

    record = cycle(config, ErasureTask(), 2)
    write(config, [bad], offset=3)

    after = rows(config, QUARANTINE, "subject_id", "reason", "payload")
    assert [visitor.encode() in payload for payload in before] == [True, True]
    assert [entry for entry in after if entry[0] == "w1"] == [("w1", "erased", "")] * 2
    payloads = [base64.b64decode(entry[2]) for entry in after if entry[0] == "w2"]
    assert all(visitor.encode() in payload for payload in payloads)
    assert record.report["rows"] == removed
    assert list(check_balance(config)) == []


def test_an_erasure_is_repeated_in_a_table_that_was_restored(config: Settings) -> None:
    folder = Path(config.lake_url) / "events"
    shutil.copytree(folder, config.data / "backup")
    erase(config, Selector.VISITOR, ID)
    cycle(config, ErasureTask(), 2)
    store = RegistryStore(config.registry_url)
    store.update(Erasure, "er1", NOON_MS, state=ErasureState.DONE, erased_values=())
    shutil.rmtree(folder)
    shutil.copytree(config.data / "backup", folder)
    restored = events(config)

    record = cycle(config, ErasureTask(), 2)

    assert "w1 a" in restored
    assert "w1 a" not in events(config)
    assert (record.state, record.report["rows"]) == (ErasureState.REWRITTEN, {"events": 1})
    assert list(check_balance(config)) == []


def test_a_quarantined_item_is_found_by_the_number_of_its_property(config: Settings) -> None:
    items = [{"name": 7, "properties": {"customer": 4711}}, {"name": 7, "total": 4711}]
    body = an_envelope(items, subject_id="w1")
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(1, body)])
    erase(config, Selector.PROPERTY, "4711", "customer")

    record = cycle(config, ErasureTask(), 2)

    left = [base64.b64decode(text) for (text,) in rows(config, QUARANTINE, "payload")]
    assert [b"total" in payload for payload in left] == [False, True]
    assert left[0] == b""
    assert record.report["rows"] == {"quarantine": 1}


def test_a_dry_run_counts_rows_and_removes_none(config: Settings) -> None:
    erase(config, Selector.PROFILE, "p1", state=ErasureState.COUNTING, website_id="w1")

    record = cycle(config, ErasureTask())

    assert (record.state, record.value_hashes) == (ErasureState.COUNTED, ())
    assert record.report == {"rows": {"events": 2, "identities": 2}, "visitors": 1}
    assert len(events(config)) == 8


@pytest.mark.parametrize("lake", ["disk", pytest.param("object store", marks=pytest.mark.long)])
def test_no_file_has_the_value_when_the_erasure_is_done(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as servers:
        more = {}
        if lake == "object store":
            server = servers.enter_context(S3Server(tmp_path / "s3"))
            more["lake"] = server.url
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
        config = filled(settings(tmp_path, **more), monkeypatch)
        report = erased_until_done(config, monkeypatch)

    assert ("bucketCopies" in report) == (lake == "object store")


def erased_until_done(config: Settings, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    at_once = TableRetention(file_minutes=0, log_minutes=60)
    for table in lake_tables():
        apply_retention(LakeTable(config, table), at_once)
    monkeypatch.setattr(erasure, "table_retention", lambda _: at_once)
    erase(config, Selector.VISITOR, ID)
    erase_w2 = RegistryStore(config.registry_url).get(Erasure, "er1")
    store = RegistryStore(config.registry_url)
    store.create(
        Erasure(
            id="er2",
            organization_id="o1",
            website_id="w2",
            selector=Selector.VISITOR,
            value_hashes=erase_w2.value_hashes,
            erased_values=erase_w2.erased_values,
            **STAMPS,
        )
    )
    store.close()
    before = files_with(config.data, ID)

    record = cycle(config, ErasureTask(), 4)

    assert len(before) >= 2  # a data file and the registry
    assert record.state is ErasureState.DONE
    assert record.erased_values == ()
    assert files_with(config.data, ID) == []
    return record.report


def files_with(folder: Path, text: str) -> list[str]:
    """Files that have a text, decompressed where they are data files."""
    import pyarrow.parquet as pq

    names = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".parquet" and "_delta_log" not in str(path):
                data = str(pq.read_table(path, partitioning=None).to_pylist()).encode()
            if text.encode() in data:
                names.append(str(path.relative_to(folder)))
    return names
