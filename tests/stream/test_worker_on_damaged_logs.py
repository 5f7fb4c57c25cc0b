"""Workers and maintenance while the log of one table is damaged."""

import asyncio
from pathlib import Path

import pytest

from schemas.lake.delta_log import (
    LOG_FOLDER,
    entry_name,
)
from schemas.lake.delta_table import DamagedLog
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.app import Worker
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.scheduler import MaintenanceScheduler
from stream.runtime.errors import FatalError, LogDamaged, Unexpected
from stream.state.id_index import MemoryBudget
from stream.writing.open_writers import LIVE, open_writers, wait_for_repair
from tests.stream.builders import version


def test_other_tables_are_maintained_while_one_cannot_be_opened(
    lake_settings: Settings, delta_log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entry = (delta_log / entry_name(3)).read_bytes()
    (delta_log / entry_name(3)).unlink()

    keeper = MaintenanceScheduler(lake_settings)
    keeper.run_cycle()
    keeper.run_cycle()

    assert len(version(lake_settings, LEDGER).data_files) == 1
    message = [r.__dict__ for r in caplog.records if r.getMessage() == "maintenance task failed"]
    assert [(one["table"], entry_name(3) in one["reason"]) for one in message] == [("events", True)]

    (delta_log / entry_name(3)).write_bytes(entry)
    keeper.run_cycle()

    assert len(version(lake_settings, EVENTS).data_files) == 1


@pytest.mark.parametrize("entry", [b"", b'{"nothing": "that says what the table is"}\n'])
def test_a_worker_skips_a_damaged_table_and_stores_into_the_others(
    lake_settings: Settings, delta_log: Path, caplog: pytest.LogCaptureFixture, entry: bytes
) -> None:
    (delta_log / entry_name(0)).write_bytes(entry)

    writers, damaged_tables = open_writers(
        lake_settings, LIVE, Lookups(), MemoryBudget.of(lake_settings)
    )

    assert list(damaged_tables) == ["events"]
    assert sorted(writers) == ["clicks", "engagement", "errors", "identities", "vitals"]
    assert [r.getMessage() for r in caplog.records if r.levelname == "CRITICAL"] == [
        "table skipped: its messages wait in Kafka until its log is repaired"
    ]


def test_a_worker_without_any_table_reports_it_and_waits_for_the_repair(
    lake_settings: Settings,
) -> None:
    entry = Path(lake_settings.lake_url) / "ledger" / LOG_FOLDER / entry_name(2)
    whole = entry.read_bytes()
    entry.write_bytes(b"")

    writers, damaged_tables = open_writers(
        lake_settings, LIVE, Lookups(), MemoryBudget.of(lake_settings)
    )

    async def waiting() -> None:
        await asyncio.wait_for(wait_for_repair(lake_settings, "worker-1", damaged_tables), 0.1)

    assert writers == {}
    with pytest.raises(TimeoutError):
        asyncio.run(waiting())
    message = refusal_reason(lake_settings.data / "run", now_ms())
    assert message == (
        "worker-1: messages for clicks, engagement, errors, events, identities, vitals wait in "
        f"Kafka, because a log is damaged ({entry.parent}: {entry.name} is empty); "
        "run tidemark doctor --repair"
    )
    entry.write_bytes(whole)
    repaired, _ = open_writers(
        lake_settings, LIVE, Lookups(), MemoryBudget.of(lake_settings), quiet=True
    )
    assert len(repaired) == len(LIVE.kinds)


class Ended(Exception):
    """Raised in place of exiting the process."""


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (DamagedLog("/lake/events/_delta_log: 07.json is empty"), LogDamaged),
        (ValueError("nobody thought of it"), Unexpected),
    ],
)
def test_a_worker_exits_with_the_reason_when_its_table_breaks_while_it_stores(
    lake_settings: Settings, failed: Exception, why: type[FatalError]
) -> None:
    problems: list[FatalError] = []

    def end(error: FatalError) -> None:
        problems.append(error)
        raise Ended

    def work(_: None) -> None:
        raise failed

    worker = Worker(lake_settings, "worker-1", {}, end)

    with pytest.raises(Ended):
        asyncio.run(worker._run_in_thread(work, None))

    assert [type(error) for error in problems] == [why]
    assert str(failed) in str(problems[0])
