"""Tables in an object store that does not answer: their status comes in time."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.status import system_status
from deploy.local.table_status import ImportsStatus
from schemas.kinds import KINDS
from schemas.lake.object_store import BRIEF
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, QUARANTINE
from stream.storage.table_setup import open_or_create
from tests.s3.server import S3Server


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with S3Server(tmp_path / "s3") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


def test_a_store_that_does_not_answer_is_a_problem_and_no_lag(
    tmp_path: Path, server: S3Server
) -> None:
    settings = Settings(data_dir=str(tmp_path), lake=server.url)
    open_or_create(table_url(server.url, EVENTS), EVENTS, settings)
    before = system_status(settings)
    server.freeze()
    began = time.monotonic()
    status = system_status(settings)
    seconds = time.monotonic() - began

    assert (before.tables[0].rows, before.tables[0].problem) == (0, None)
    assert [table.rows for table in status.tables] == [None] * len(KINDS)
    assert [table.lag_seconds for table in status.tables] == [None] * len(KINDS)
    assert status.imports == ImportsStatus(None, None)
    assert status.quarantine_rows is None
    names = ", ".join([*(kind.table.name for kind in KINDS), QUARANTINE.name])
    [unread] = [problem for problem in status.problems if problem.startswith("table")]
    assert unread == (
        f"tables {names}: the object store cannot be read: it does not respond in time"
    )
    assert seconds < 5 * BRIEF.request  # one after the other they would take eight times as long
