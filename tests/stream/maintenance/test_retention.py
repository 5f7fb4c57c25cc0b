"""Rows older than their website keeps are deleted, and those of deleted websites; nothing else."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import Envelope
from schemas.kinds import CLICK, CUSTOM_EVENT, TABLES, WEB_VITAL
from schemas.registry import Link, Organization, RegistryStore, Website
from schemas.registry.keep_days import DAY_MS, midnight_ms_before
from schemas.registry.records import Deletion
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, EVENTS, LEDGER, QUARANTINE, VITALS, Table
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import retention
from stream.maintenance.compaction import merge_files
from stream.maintenance.expiry import ALWAYS, NEVER
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.retention import LATE_ROWS_MS, Retention, read_expiries
from stream.recovery.ledger_balance import check_balance
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.registries import make_registry
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings
from tests.stream.imported_totals import store as store_totals
from tests.stream.imported_totals import stored as stored_totals
from tests.stream.writing.test_backfill_writer import a_backfill, lines

STAMPS: dict[str, Any] = {"created_at": NOON_MS, "updated_at": NOON_MS}


class Killed(Exception):
    """The process ended here."""


class World:
    """A lake, a registry with websites w1 and w2 of one organization, and a keeper's clock."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.config: Settings = settings(folder, **options)
        make_registry(self.config.registry_url)
        self.store = RegistryStore(self.config.registry_url, clock=lambda: self.now_ms)
        self.now_ms = NOON_MS
        self.offsets: Counter[str] = Counter()
        self.store.create(Organization(id="o1", name="Acme", **STAMPS))
        for name in ("w1", "w2"):
            domain = f"{name}.example"
            self.store.create(Website(id=name, organization_id="o1", domain=domain, **STAMPS))
        link = Link(
            id="l1", organization_id="o1", name="a", target_url="https://a.example", slug="abc",
            **STAMPS,
        )  # fmt: skip
        self.store.create(link)
        self.keeper = self.started()

    def started(self, on_step: Callable[[str], None] = lambda step: None) -> Retention:
        return Retention(lambda: self.now_ms, on_step)

    def holds(self, *envelopes: Envelope, kind: Any = CUSTOM_EVENT) -> None:
        """Store the envelopes as one data file a day."""
        writer = BatchWriter(self.config, kind, Lookups())
        writer.write([a_message(self.offsets[kind.name], *envelopes)])
        self.offsets[kind.name] += 1

    def keeps(self, website: str = "w1", **days: int) -> None:
        self.store.update(Website, website, self.now_ms, keep_days=days)

    def cycle(self, after_days: float, keeper: Retention | None = None) -> None:
        """One cycle of the keeper so many days after noon of the 21st."""
        self.now_ms = NOON_MS + round(after_days * DAY_MS)
        for table in TABLES:
            (keeper or self.keeper)(LakeTable(self.config, table), self.config)

    def names(self, table: Table = EVENTS) -> list[str]:
        return [name for (name,) in rows(self.config, table, "name")]

    def files(self, table: Table = EVENTS) -> set[str]:
        handle = LakeTable(self.config, table).handle
        return {file.path for file in live_data_files(handle, table)}

    def drops(self) -> list[tuple[Any, ...]]:
        """Corrections of the ledger: website, stored, reason."""
        entries = rows(self.config, LEDGER, "subject_id", "stored", "drop_reason")
        return [entry for entry in entries if entry[2] is not None]

    def is_balanced(self) -> bool:
        return list(check_balance(self.config)) == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.store.close()


def event(
    name: str, day: float = 0, website: str = "w1", received_day: float | None = None
) -> Envelope:
    """An event so many days after noon of the 21st, received then if not said otherwise."""
    at_ms = NOON_MS + round(day * DAY_MS)
    received_ms = at_ms if received_day is None else NOON_MS + round(received_day * DAY_MS)
    item = {"name": name, "timestamp": at_ms}
    return an_envelope([item], subject_id=website, received_ms=received_ms)


def test_what_happened_before_the_first_day_that_is_kept_is_deleted(world: World) -> None:
    world.holds(event("last of the 21st", 0.4999))
    world.holds(event("first of the 22nd", 0.5))
    world.keeps(all=3)

    world.cycle(3.4999)  # the 24th, before midnight: the 21st is the third day before
    assert len(world.names()) == 2
    world.cycle(3.5)

    assert world.names() == ["first of the 22nd"]
    assert world.drops() == [("w1", -1, "expired")]
    assert world.is_balanced()


def test_a_file_of_two_websites_is_rewritten_once_without_the_expired_rows(world: World) -> None:
    world.holds(event("a"), event("b", website="w2"), event("c"))
    (before,) = world.files()
    world.keeps("w1", all=2)
    world.keeps("w2", all=5)

    world.cycle(3)
    (after,) = world.files()
    assert (world.names(), before != after) == (["b"], True)
    world.cycle(4)
    assert world.files() == {after}
    world.cycle(6)

    assert world.files() == set()
    assert world.drops() == [("w1", -2, "expired"), ("w2", -1, "expired")]
    assert world.is_balanced()


def test_the_days_of_a_website_win_over_those_of_its_organization(world: World) -> None:
    world.store.update(Organization, "o1", NOON_MS, keep_days={"all": 2, "vitals": 9})
    world.keeps("w1", all=4, vitals=1)
    world.holds(event("a"), event("b", website="w2"))
    vital = {"metricName": "LCP", "metricValue": 9, "path": "/", "timestamp": NOON_MS}
    for website in ("w1", "w2"):
        world.holds(an_envelope([vital], subject_id=website), kind=WEB_VITAL)

    world.cycle(3)

    assert world.names() == ["a"]
    assert rows(world.config, VITALS, "website_id") == [("w2",)]
    assert world.is_balanced()


def test_clicks_follow_the_organization_of_their_link(world: World) -> None:
    click = an_envelope([{"slug": "abc"}], subject_id="l1")
    world.holds(click, kind=CLICK)
    world.keeps("w1", all=1)

    world.cycle(3)
    assert len(world.files(CLICKS)) == 1
    world.store.update(Organization, "o1", NOON_MS, keep_days={"clicks": 2})
    world.cycle(3)

    assert world.files(CLICKS) == set()
    assert world.is_balanced()


def test_the_operators_maximum_holds_where_nothing_is_set(tmp_path: Path) -> None:
    world = World(tmp_path, max_keep_days=2)
    world.holds(event("a"), event("b", website="gone"), event("new", 2))

    world.cycle(3)

    assert world.names() == ["new"]
    assert world.is_balanced()


def test_imported_history_is_as_old_as_it_says(world: World) -> None:
    a_backfill(world.config.data).write([a_message(0, lines(1, 3))])  # of March 2019
    world.holds(event("live"))
    world.keeps(all=30)

    world.cycle(1)

    assert world.names() == ["live"]
    assert world.drops() == []  # the ledger of the topic has no imported rows
    assert world.is_balanced()


def test_imported_totals_are_deleted_by_the_day_that_was_counted(world: World) -> None:
    store_totals(world.config, "i1", [-30, -20, -1])
    store_totals(world.config, "i2", [-30], website="w2")
    world.keeps(all=9, imported_totals=25)

    world.cycle(0)
    early = stored_totals(world.config)
    world.cycle(3)

    assert early == [("i1", -30), ("i1", -20), ("i1", -1), ("i2", -30)]
    assert stored_totals(world.config) == [("i1", -20), ("i1", -1), ("i2", -30)]


def test_a_file_through_which_the_border_moves_is_rewritten_once_a_week(world: World) -> None:
    world.holds(*(event(f"day {day}", day, received_day=7) for day in range(8)))
    world.keeps(all=20)

    world.cycle(27.5)  # kept from 7.5: all are due
    assert world.files() == set()


def test_due_rows_beside_others_of_their_website_wait_for_a_week(world: World) -> None:
    history = [
        {"name": f"day {day}", "timestamp": NOON_MS + day * DAY_MS, "line": day + 1}
        for day in (0, 6, 20)
    ]
    imported = an_envelope(history, import_id="i1", received_ms=NOON_MS + 30 * DAY_MS)
    a_backfill(world.config.data).write([a_message(0, imported)])
    world.keeps(all=30)

    world.cycle(37.49)  # kept from the middle of day 6: day 0 has been due for 6.5 days
    assert len(world.names()) == 3
    world.cycle(37.5)  # for 7.5 days, and day 6 goes with it

    assert world.names() == ["day 20"]


def test_nothing_is_done_twice_within_an_hour(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.holds(event("a"))
    world.keeps(all=2)
    world.cycle(1)
    monkeypatch.setattr(retention, "candidates", lambda *_: pytest.fail("looked again"))

    world.cycle(1.01)


@pytest.mark.parametrize("step", ["ledger", "rewrite"])
def test_a_kill_between_the_commits_leaves_the_ledger_balanced(world: World, step: str) -> None:
    world.holds(event("a"), event("b", website="w2"), event("c", 5))
    world.keeps(all=2)

    def on_step(reached: str) -> None:
        if reached == step:
            raise Killed

    with pytest.raises(Killed):
        world.cycle(3, world.started(on_step))
    assert world.is_balanced()
    world.cycle(3, world.started())

    assert world.names() == ["b", "c"]
    assert world.drops() == [("w1", -1, "expired")]
    assert world.is_balanced()


def test_ledger_and_quarantine_follow_eight_days_after_the_longest_days(world: World) -> None:
    world.keeps(all=10, vitals=12)
    world.holds(event("a"), an_envelope([{"name": 5}]), event("b", website="w2"))
    world.holds(event("new", 11))
    world.cycle(20.4999)
    assert len(rows(world.config, QUARANTINE, "stage")) == 1

    world.cycle(20.5)  # twenty days after the 22nd: the 21st is the last that is not kept

    assert rows(world.config, QUARANTINE, "stage") == []
    assert rows(world.config, LEDGER, "subject_id", "stored") == [("w1", 1), ("w2", 1)]
    assert world.names() == ["b", "new"]
    assert world.is_balanced()


def test_what_collectors_counted_themselves_stays_in_the_ledger(world: World) -> None:
    world.keeps(all=1)
    world.holds(event("a"))
    world.cycle(15.4999)
    assert rows(world.config, LEDGER, "stored") == [(-1,), (1,)]

    world.cycle(15.5)  # they have counts of 14 days

    assert rows(world.config, LEDGER, "stored") == []


@pytest.mark.parametrize("step", ["quarantine", "ledger"])
def test_a_kill_between_quarantine_and_ledger_is_made_good(world: World, step: str) -> None:
    world.keeps(all=2)
    world.holds(event("a"), an_envelope([{"name": 5}]))
    world.cycle(3)

    def on_step(reached: str) -> None:
        if reached == step:
            raise Killed

    with pytest.raises(Killed):
        world.cycle(16, world.started(on_step))
    world.cycle(16, world.started())

    assert rows(world.config, LEDGER, "stored") == []
    assert rows(world.config, QUARANTINE, "stage") == []
    assert world.is_balanced()


def test_a_deleted_website_is_purged_when_it_can_no_longer_be_restored(world: World) -> None:
    world.holds(event("a"), event("b", website="w2"), an_envelope([{"name": 5}]))
    a_backfill(world.config.data).write([a_message(0, lines(1, 3))])
    world.store.delete(Website, "w1")

    world.cycle(29.99)
    assert len(world.names()) == 5
    assert world.store.get(Deletion, "w1").records
    world.cycle(30)

    deletion = world.store.get(Deletion, "w1")
    assert (deletion.records, deletion.purged_at) == ({}, NOON_MS + 30 * DAY_MS)
    assert world.names() == ["b"]
    assert rows(world.config, LEDGER, "subject_id", "stored") == [("w2", 1)]
    assert rows(world.config, QUARANTINE, "stage") == []
    assert world.is_balanced()


def test_imported_totals_go_with_their_website(world: World) -> None:
    store_totals(world.config, "i1", [-3, -1])
    store_totals(world.config, "i2", [-3], website="w2")
    world.store.delete(Website, "w1")

    world.cycle(after_days=31)

    assert stored_totals(world.config) == [("i2", -3)]


def test_a_purged_id_is_made_again_without_its_old_rows(tmp_path: Path) -> None:
    world = World(tmp_path, purge_days=0)
    world.holds(event("old"))
    world.store.delete(Website, "w1")
    world.cycle(1)
    world.holds(event("late", 0.9))
    world.cycle(1.1, world.started())
    assert world.names() == []

    stamps: dict[str, Any] = {"created_at": world.now_ms, "updated_at": world.now_ms}
    again = Website(id="w1", organization_id="o1", domain="a.example", **stamps)
    world.store.create(again)
    world.holds(event("later", 0.95), event("new", 2))
    world.cycle(3)

    assert world.names() == ["new"]
    assert world.is_balanced()
    world.cycle(2 + LATE_ROWS_MS / DAY_MS, world.started())
    assert world.store.count(Deletion) == 0


def test_a_restored_website_keeps_its_rows(world: World) -> None:
    world.holds(event("a"))
    world.store.delete(Website, "w1")
    world.cycle(29)
    world.store.restore_deleted(Website, "w1")
    world.cycle(60)

    assert world.names() == ["a"]


def test_a_deleted_organization_takes_the_rows_of_websites_and_links(tmp_path: Path) -> None:
    world = World(tmp_path, purge_days=0)
    world.holds(event("a"), event("b", website="w2"), event("c", website="other"))
    world.holds(an_envelope([{"slug": "abc"}], subject_id="l1"), kind=CLICK)
    world.store.delete(Organization, "o1")

    world.cycle(1)
    assert (world.names(), world.files(CLICKS)) == (["c"], set())
    assert world.store.get(Deletion, "o1").purged_at is not None
    world.cycle(2 + LATE_ROWS_MS / DAY_MS, world.started())

    assert world.store.count(Deletion) == 0
    assert world.is_balanced()


def test_expiry_goes_on_in_merged_files(world: World) -> None:
    world.holds(event("a"))
    world.holds(event("b", website="w2"))
    table = LakeTable(world.config, EVENTS)
    data_files = live_data_files(table.handle, EVENTS)
    day = data_files[0].day
    merged = merge_files(table, day, data_files)
    table.replace_same_rows([file.path for file in data_files], merged, day.isoformat())
    world.keeps(all=2)

    world.cycle(3)

    assert world.names() == ["b"]
    assert world.is_balanced()


def test_what_is_due_is_read_without_a_keeper(tmp_path: Path) -> None:
    world = World(tmp_path, purge_days=0)
    world.keeps("w1", all=2)
    world.store.delete(Website, "w2")

    purged, by_age = read_expiries(world.config, EVENTS)

    assert (purged.reason, purged.of("w2"), purged.of("w1")) == ("purged", NEVER, ALWAYS)
    assert (by_age.reason, by_age.of("w2")) == ("expired", ALWAYS)
    assert by_age.of("w1") == midnight_ms_before(2, now_ms())
    assert read_expiries(settings(tmp_path / "nothing"), EVENTS) == ()
