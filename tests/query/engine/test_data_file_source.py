"""The same answers from an object store as from a local disk, through the local cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from query.engine.data_file_source import CACHE_FOLDER
from schemas.tables import EVENTS
from tests.query.lake import Lake, a_view, an_error, an_event
from tests.query.query_service import InProcessService, start_service
from tests.s3.server import S3Server

ROWS = (
    a_view("/", visitor="u1", session="s1"),
    a_view("/prices", visitor="u1", session="s1", at="2026-11-10T12:00:10Z"),
    a_view("/", visitor="u2", session="s2", at="2026-11-12T08:00:00Z"),
    an_event("signup", visitor="u2", session="s2", at="2026-11-12T08:01:00Z"),
    an_error("boom", visitor="u2", session="s2", at="2026-11-12T08:02:00Z"),
)
QUESTIONS = ("summary_metrics", "top_pages", "custom_events", "recent_errors", "entry_pages")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def remote(
    tmp_path: Path, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcessService]:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    lake = tmp_path.name
    service = start_service(tmp_path / "data", lake=f"{server.url}/{lake}")
    service.lake = Lake(server.objects / lake)
    yield service
    service.close()


def answers(service: InProcessService) -> list[object]:
    reply = service.query(*QUESTIONS)
    assert reply.status == 200, reply.json
    assert all(entry["success"] for entry in reply.json["data"]), reply.json
    return [entry["data"] for entry in reply.json["data"]]


def cached(service: InProcessService) -> list[Path]:
    return sorted((service.data / CACHE_FOLDER).rglob("*.parquet"))


def test_answers_are_those_of_a_local_lake(remote: InProcessService, tmp_path: Path) -> None:
    local = start_service(tmp_path / "local")
    for service in (remote, local):
        service.holds(*ROWS)

    assert answers(remote) == answers(local)
    assert {path.name for path in cached(remote) if EVENTS.name in path.parts} == {
        path.name for path in remote.lake.paths(EVENTS)
    }
