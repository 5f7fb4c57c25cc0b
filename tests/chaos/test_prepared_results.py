"""A query service that is killed while it makes prepared results, or stores their indexes."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from query.prepared import FOLDER
from schemas.registry import RegistryStore
from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings
from tests.bench.dataset import DataSet
from tests.bench.query_service import RunningService, service
from tests.http_client import call
from tests.installation import eventually
from tests.query.lake import Lake, Stored, a_view, an_event
from tests.query.query_service import fill_registry

PREPARED_MB = 64
DAYS = [f"2026-10-{day:02}" for day in range(1, 32)]
OCTOBER = {"startDate": DAYS[0], "endDate": DAYS[-1]}
FILES_BEFORE_KILL = (0, 1, 3, 9, 18)
"""Files in the folder of parts when the service is killed: whole ones, and one that is written."""
INDEXES_BEFORE_KILL = (1, 2, 3)
"""Indexes that are there then, or a file that names their parts."""
VISITORS = 250
"""Enough for indexes that are stored."""
TYPES = ("summary", "events_by_date", "channels", "top_pages", "exit_pages", "custom_events")


def rows_of(day: str) -> Sequence[Stored]:
    """Visits of one data file; some visitors and sessions are in others too."""
    when: list[dict[str, Any]] = [
        {"at": f"{day}T{n % 24:02}:{n // 24:02}:00Z", "session": f"s{day}{n % VISITORS}"}
        for n in range(3 * VISITORS)
    ]
    views = [a_view(f"/{n % 7}", visitor=f"u{n % VISITORS}", **each) for n, each in enumerate(when)]
    return [*views, *(an_event("signup", visitor=f"u{day}", **each) for each in when[::6])]


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """A data file of each day, with no prepared results."""
    root = tmp_path_factory.mktemp("prepared")
    settings = Settings(data_dir=str(root))
    migrate(settings.registry_url)
    store = RegistryStore(settings.registry_url)
    key = fill_registry(store)["acme"]
    store.close()
    lake = Lake(root / "lake")
    for day in DAYS:
        lake.holds(*rows_of(day))
    return DataSet(str(root), 0, key)


def ask(running: RunningService, parameter: str = "") -> list[Any]:
    """The entries of all types; parts are made behind the response."""
    url = f"{running.url}/v1/query?website_id=shop{parameter}"
    body = {"parameters": TYPES, **OCTOBER}
    reply = call("POST", url, body, {"x-api-key": running.key})
    assert reply.json["success"], reply.body
    entries: list[Any] = reply.json["data"]
    return entries


def rows(entries: Sequence[Any]) -> list[Any]:
    return [entry["data"] for entry in entries]


def files(data_set: DataSet) -> list[Path]:
    return list(Path(data_set.folder, FOLDER).glob("*/*/*"))


def kill_with_files(running: RunningService, data_set: DataSet, count: int) -> None:
    """Kill the service as soon as so many files are there."""
    eventually(lambda: len(files(data_set)) >= count, pause=0)
    os.kill(running.pid, signal.SIGKILL)
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)


def test_a_service_killed_while_it_prepares_answers_the_same_after_it(data_set: DataSet) -> None:
    left = []
    with service(data_set) as without:
        expected = rows(ask(without))

    for count in FILES_BEFORE_KILL:
        for path in files(data_set)[count:]:
            path.unlink()
        with service(data_set, PREPARED_MB) as running:
            assert rows(ask(running)) == expected
            kill_with_files(running, data_set, count)
        left.append(len(files(data_set)))

    assert min(left) < len(DAYS)  # a service was killed while it had parts to make
    with service(data_set, PREPARED_MB) as running:
        eventually(lambda: all(entry["meta"].get("prepared") for entry in ask(running)))
        assert rows(ask(running)) == expected == rows(ask(running, "&prepared=false"))


def test_a_service_killed_while_it_stores_indexes_answers_the_same_after_it(
    data_set: DataSet,
) -> None:
    with service(data_set, PREPARED_MB) as running:
        eventually(lambda: all(entry["meta"].get("prepared") for entry in ask(running)))
        expected = rows(ask(running, "&prepared=false"))
    for path in (path for path in files(data_set) if path.suffix != ".parquet"):
        path.unlink()
    parts = len(files(data_set))

    for count in INDEXES_BEFORE_KILL:
        with service(data_set, PREPARED_MB) as running:
            assert rows(ask(running)) == expected
            kill_with_files(running, data_set, parts + count)

    with service(data_set, PREPARED_MB) as running:
        assert rows(ask(running)) == expected
    assert [path for path in files(data_set) if path.suffix == ".index"]
