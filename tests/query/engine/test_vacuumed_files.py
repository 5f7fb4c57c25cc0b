"""A version whose data files vacuum has deleted is gone, wherever copies of them are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas.lake.table_location import table_url
from schemas.tables import EVENTS
from tests.query.lake import Lake, a_view
from tests.query.query_service import InProcessService, start_service
from tests.s3.server import S3Server


@pytest.fixture(params=["disk", "object store"])
def service(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcessService]:
    """Its lake can be changed in the folder of `service.lake`."""
    if request.param == "disk":
        local = start_service(tmp_path)
        yield local
        local.close()
        return
    with S3Server(tmp_path / "s3") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        remote = start_service(tmp_path / "data", lake=f"{server.url}/lake")
        remote.lake = Lake(server.objects / "lake")
        yield remote
        remote.close()


def asked(service: InProcessService, **more: Any) -> tuple[int, Any]:
    reply = service.query("summary", "session_list", **more)
    if reply.status != 200:
        return reply.status, reply.json["code"]
    return 200, [entry["meta"]["totalRows"] for entry in reply.json["data"]]


def test_a_version_is_answered_until_its_replaced_files_are_deleted(
    service: InProcessService,
) -> None:
    service.holds(a_view("/", session="s1"), a_view("/", session="s2"))
    versions = service.query("summary", "session_list").json["meta"]["versions"]
    data_files = service.lake.paths(EVENTS)
    DeltaTable(table_url(str(service.lake.root), EVENTS)).delete()

    assert asked(service) == (200, [1, 0])
    assert asked(service, asOf=versions) == (200, [1, 2])
    for data_file in data_files:
        data_file.unlink()

    assert asked(service, asOf=versions) == (410, "VERSION_GONE")
    assert asked(service) == (200, [1, 0])
