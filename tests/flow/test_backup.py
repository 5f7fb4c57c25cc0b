"""Backup under load, a lost machine, restore: the same results, each event once."""

import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from deploy.local.kafka.broker import Broker
from query.standard.query_types import QUERY_TYPES
from tests.chaos.recorded_load import LoadSender, event_id_counts, ledger_balance
from tests.flow.tenant import Tenant
from tests.flow.test_receipts import an_event, looked_up, waited
from tests.flow.test_run_book import RUN_BOOK
from tests.installation import Installation, eventually, format_storage, free_port

pytestmark = pytest.mark.long

SETTINGS: Mapping[str, Any] = {"batch_seconds": 0.3, "compact_seconds": 1.0, "small_parts": 4}
NOT_LIVE = sorted(name for name, query_type in QUERY_TYPES.items() if not query_type.is_live)
MIN_TYPES = 30
"""Query types that need no options of their own, at least."""


class LostMachine(Struct, frozen=True):
    """An installation that is gone: its backup, and what its senders and analysts know."""

    target: Path
    kafka: str
    tenant: Tenant
    receipt: str
    versions: Mapping[str, int]
    """The table versions of the backup."""
    results: Mapping[str, Any]
    """Results of the query types on these versions."""
    acknowledged: frozenset[str]
    backed_up: frozenset[str]
    """Events that were stored before the backup began."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("kafka") / "broker"
    format_storage(folder)
    with Broker(folder, port=free_port(), controller_port=free_port()) as running:
        yield running.address


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory, kafka: str) -> LostMachine:
    """A machine that was backed up under load and is lost while more arrives."""
    folder, target = tmp_path_factory.mktemp("lost"), tmp_path_factory.mktemp("target")
    with Installation(folder, kafka=kafka, **SETTINGS) as stack:
        tenant = Tenant.create(stack)
        receipt = waited(tenant, [an_event("signup", url="https://shop.example/a")]).json["receipt"]
        tenant.send([{"name": "screen_view", "path": f"/{page}"} for page in "abc"])
        with LoadSender(stack.collect_url, tenant.website.id) as load:
            load.wait_for(600)
            stored = frozenset(load.acknowledged)
            eventually(lambda: stored <= event_ids(stack, tenant).keys())
            first = stack.tidemark("backup", str(target))
            load.wait_for(300)
            second = stack.tidemark("backup", str(target), "--limit-mb", "50")
            load.wait_for(600)
            assert stack.tidemark("verify")["offsets"] == []  # under load; exit code 0
        results = results_at(tenant, second["tables"])
        assert first["damaged"] == second["damaged"] == []
        assert second["copiedFiles"] < second["files"]
        assert load.unknown == set()
        stack.kill()
    return LostMachine(
        target,
        kafka,
        tenant,
        receipt,
        second["tables"],
        results,
        frozenset(load.acknowledged),
        stored,
    )


def event_ids(stack: Installation, tenant: Tenant) -> Mapping[str, int]:
    return event_id_counts(stack.settings.lake_url, tenant.website.id)


def results_at(tenant: Tenant, versions: Mapping[str, int]) -> Mapping[str, Any]:
    """The results of all query types that need no options, on these versions of the tables."""
    today = datetime.now(UTC).date()
    start, end = str(today - timedelta(days=6)), str(today)
    replies = {
        name: tenant.ask(name, asOf=versions, startDate=start, endDate=end) for name in NOT_LIVE
    }
    return {
        name: reply.json["data"][0]["data"]
        for name, reply in replies.items()
        if reply.status == 200 and reply.json["data"][0].get("data") is not None
    }


def restored(lost: LostMachine, folder: Path) -> Any:
    """Run the commands of the run book, all but the start; what `restore` printed."""
    chapter = RUN_BOOK.partition("## A lost machine\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^ {4}tidemark (.*)$", chapter, re.MULTILINE)
    *others, verify = [shlex.split(command) for command in commands if command != "up"]
    assert [words[0] for words in (*others, verify)] == ["backup", "restore", "backup"]
    places = {"TARGET": str(lost.target), "FOLDER": str(folder)}
    listed, summary, problems = (
        lost.tenant.stack.tidemark(*(places.get(word, word) for word in words))
        for words in (*others, verify)
    )
    assert (len(listed), problems, summary["backup"]) == (2, [], listed[0]["id"])
    return summary


def test_with_the_old_kafka_nothing_is_missing_and_nothing_twice(
    lost: LostMachine, tmp_path: Path
) -> None:
    folder = tmp_path / "restored"
    summary = restored(lost, folder)
    before = event_id_counts(str(folder / "lake"), lost.tenant.website.id)
    assert lost.backed_up <= before.keys() < lost.acknowledged | {"", "None"}

    with Installation(folder, kafka=lost.kafka, **SETTINGS) as stack:
        tenant = structs.replace(lost.tenant, stack=stack)
        assert len(lost.results) >= MIN_TYPES
        assert results_at(tenant, lost.versions) == lost.results
        assert looked_up(tenant, lost.receipt)["counts"]["stored"] == 1
        eventually(lambda: lost.acknowledged <= event_ids(stack, tenant).keys(), 60)
        counts = event_ids(stack, tenant)
        assert {name for name in lost.acknowledged if counts[name] != 1} == set()
        received, stored, duplicates, others = ledger_balance(stack.settings.lake_url)
        assert (received, duplicates, others) == (stored, 0, 0)
        verified = stack.tidemark("verify")
        assert (verified["received"], verified["files"]) == (received, [])
        # The demo of a first start is not made again: one organization is the demo's of the lost
        # machine, the other one the tenant's.
        assert len(stack.tidemark("organizations", "list")) == 2
    assert summary["rows"]["events"] == sum(before.values())


def test_with_a_new_kafka_a_new_epoch_begins_behind_the_backup(
    lost: LostMachine, tmp_path: Path
) -> None:
    folder = tmp_path / "restored"
    summary = restored(lost, folder)
    format_storage(folder / "kafka")

    # Tables that are named may be of another Kafka: the epoch must be said, as the command advises.
    epoch = {"lake": str(folder / "lake"), "ingest_epoch": summary["nextEpoch"]}
    with Installation(folder, **SETTINGS, **epoch) as stack:
        tenant = structs.replace(lost.tenant, stack=stack)
        assert results_at(tenant, lost.versions) == lost.results
        before = event_ids(stack, tenant)
        reply = waited(tenant, [an_event("after", eventId="new-1")])
        assert (reply.status, reply.json["stored"]) == (200, True)

        counts = event_ids(stack, tenant)
        assert {**counts} == {**before, "new-1": 1}
        assert lost.backed_up <= counts.keys()
        assert stack.tidemark("verify")["hours"] == []
        assert {check["state"] for check in stack.tidemark("doctor", "--checksums")} <= {
            "ok",
            "skipped",
        }
