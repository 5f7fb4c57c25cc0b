"""Files of imports over HTTP: stored under a name of ours, bounded, started when checked."""

from pathlib import Path
from typing import Any

import pytest

from schemas.registry import Import, ImportState
from schemas.runtime.uploads import uploads_folder
from tests.query.query_service import NOW, InProcessService, reused, start_service

ADMIN = "acme-admin"
MIB = 2**20
CONTENT = b"timestamp,path\n2019-03-01T10:00:00Z,/old\n"


@reused
def service(tmp_path: Path) -> InProcessService:
    """A service beside `tidemark up`, for files of at most 1 MB."""
    uploads_folder(tmp_path).mkdir()
    return start_service(tmp_path, upload_mb=1)


def create(service: InProcessService, **more: str) -> str:
    body = {"websiteId": "shop", "name": "visits.csv", **more}
    return str(service.ask("POST", "/v1/imports", body, key=ADMIN).json["data"]["id"])


def upload(
    service: InProcessService, import_id: str, content: bytes = CONTENT, key: str = ADMIN
) -> tuple[int, Any]:
    reply = service.ask("PUT", f"/v1/imports/{import_id}/file", content, key=key)
    return reply.status, reply.json.get("data") or reply.json["error"]


def files(service: InProcessService) -> list[bytes]:
    return [path.read_bytes() for path in uploads_folder(service.data).iterdir()]


def test_a_file_is_stored_and_its_import_is_being_checked(service: InProcessService) -> None:
    import_id = create(service, name="../../etc/visits.csv")

    status, shown = upload(service, import_id)

    assert (status, shown["state"], shown["fraction"]) == (202, "checking", 0.0)
    assert shown["name"] == "../../etc/visits.csv"
    [path] = uploads_folder(service.data).iterdir()
    assert path.name.startswith(f"{import_id}.")
    assert path.read_bytes() == CONTENT
    assert service.store.get(Import, import_id).upload == {"file": path.name}


def test_an_import_takes_one_file(service: InProcessService) -> None:
    import_id = create(service)
    upload(service, import_id)

    again = upload(service, import_id, b"another")

    expected = "The import has a file or events already; create another one for this file"
    assert again == (409, expected)
    assert files(service) == [CONTENT]


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"", 400, "The body is empty; send the file as the body"),
        (
            b"x" * (MIB + 1),
            413,
            "The file may have at most 1 MB (TIDEMARK_UPLOAD_MB); import it with `tidemark "
            "import` on the machine that runs Tidemark",
        ),
    ],
)
def test_a_body_that_is_empty_or_too_large_is_refused(
    service: InProcessService, content: bytes, status: int, message: str
) -> None:
    import_id = create(service)

    assert upload(service, import_id, content) == (status, message)
    assert files(service) == []
    assert service.store.get(Import, import_id).state is ImportState.OPEN
    assert upload(service, import_id)[0] == 202


def test_the_last_space_of_the_disk_is_not_for_files(tmp_path: Path) -> None:
    uploads_folder(tmp_path).mkdir()
    service = start_service(tmp_path, disk_floor_mb=10**9)

    status, message = upload(service, create(service))

    assert (status, message.partition(";")[0]) == (
        503,
        "The disk has too little free space for the file",
    )
    assert files(service) == []


def test_a_service_alone_takes_no_files(tmp_path: Path) -> None:
    service = start_service(tmp_path)

    status, message = upload(service, create(service))

    assert (status, message.partition(",")[0]) == (409, "This service runs without `tidemark up`")


def test_an_import_is_started_once_it_is_checked(service: InProcessService) -> None:
    import_id = create(service)
    path = f"/v1/imports/{import_id}/start"

    early = service.ask("POST", path, key=ADMIN)
    check = {
        "kind": "events", "product": "GoatCounter", "recognizedBy": ["2Path"], "note": "",
        "files": 1,
        "filesLeftOut": [], "accepted": 3, "rejected": 1, "names": {"pageview": 3},
        "days": {"2019-03-01": 3}, "firstDay": "2019-03-01", "lastDay": "2019-03-01",
        "reasons": {"no time": 1}, "columns": {}, "ignoredColumns": [], "factsLeftOut": {},
        "rows": [{"name": "pageview"}],
    }  # fmt: skip
    service.store.update(Import, import_id, NOW, state=ImportState.CHECKED, upload={"check": check})
    shown = service.ask("GET", f"/v1/imports/{import_id}", key=ADMIN).json["data"]
    [listed] = service.ask("GET", "/v1/imports", key=ADMIN).json["data"]
    started = service.ask("POST", path, key=ADMIN)
    service.store.update(Import, import_id, NOW, accepted=1, rejected=1)
    sent = service.ask("GET", f"/v1/imports/{import_id}", key=ADMIN).json["data"]

    assert early.status == 409
    assert early.json["error"].startswith("The import is open; only one that is checked")
    assert (shown["state"], shown["check"], shown["stored"]) == ("checked", check, 0)
    assert "check" not in listed
    assert (started.status, started.json["data"]["state"]) == (202, "importing")
    assert (sent["state"], sent["fraction"]) == ("importing", 0.5)


def test_files_of_others_are_not_taken(service: InProcessService) -> None:
    service.store.create(
        Import(
            id="imp_r", organization_id="globex", website_id="rival", name="r",
            created_at=NOW, updated_at=NOW,
        )
    )  # fmt: skip

    assert upload(service, "imp_r")[0] == 404
    assert service.ask("POST", "/v1/imports/imp_r/start", key=ADMIN).status == 404
    assert upload(service, create(service), key="acme")[0] == 403
    assert files(service) == []


def test_an_organization_has_ten_files_that_wait(service: InProcessService) -> None:
    for _ in range(10):
        assert upload(service, create(service))[0] == 202

    status, message = upload(service, create(service))

    assert (status, message.partition(",")[0]) == (
        409,
        "The organization has 10 files that are not imported yet",
    )
