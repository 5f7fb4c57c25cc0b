"""A file over HTTP: checked, started, its importer killed twice, stored once, undone."""

import json
import os
import signal
from typing import Any

import pytest

from schemas.runtime.uploads import uploads_folder
from tests.flow.tenant import Tenant
from tests.flow.test_imports import LINES, YEAR_CUSTOM, a_line, views
from tests.http_client import Reply, call
from tests.installation import eventually

IMPORTER = "importer"
VIEWS = [
    ("2019-03-01", 3716, 372),
    ("2019-04-01", 3596, 360),
    ("2019-05-01", 3716, 372),
    ("2019-06-01", 960, 96),
]
"""120 page views a day from March 1st on; every thousandth is missing."""


def ask(tenant: Tenant, method: str, path: str = "", body: object = None) -> Reply:
    url = f"{tenant.stack.query_url}/v1/imports{path}"
    headers = {"x-api-key": tenant.key}
    if not isinstance(body, bytes):
        headers["content-type"] = "application/json"
    return call(method, url, body, headers, seconds=60)


def shown(tenant: Tenant, import_id: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(tenant, "GET", f"/{import_id}").json["data"]
    return found


def in_state(tenant: Tenant, import_id: str, state: str) -> dict[str, Any]:
    return eventually(
        lambda: found if (found := shown(tenant, import_id))["state"] == state else {}, 120
    )


def importer(tenant: Tenant, other_than: int = 0) -> int:
    """The pid of the process that imports, which runs while there is a file."""
    return eventually(
        lambda: pid if (pid := tenant.stack.pids().get(IMPORTER, 0)) != other_than else 0
    )


@pytest.mark.long
def test_an_uploaded_file_is_stored_once_though_its_importer_is_killed(tenant: Tenant) -> None:
    content = "".join(json.dumps(a_line(number)) + "\n" for number in range(1, LINES + 1))
    body = {"websiteId": tenant.website.id, "name": "visits.ndjson"}
    import_id = ask(tenant, "POST", "", body).json["data"]["id"]

    assert ask(tenant, "PUT", f"/{import_id}/file", content.encode()).status == 202
    first = importer(tenant)
    os.kill(first, signal.SIGKILL)
    checked = in_state(tenant, import_id, "checked")
    assert (checked["stored"], checked["accepted"], views(tenant)) == (0, 0, [])
    check = checked["check"]
    assert (check["accepted"], check["rejected"]) == (LINES - 12, 12)
    assert check["reasons"] == {"'timestamp' is required": 12}
    assert (check["firstDay"], check["lastDay"], len(check["rows"])) == (
        "2019-03-01",
        "2019-06-08",
        10,
    )

    second = importer(tenant, other_than=first)
    assert ask(tenant, "POST", f"/{import_id}/start").status == 202
    eventually(lambda: shown(tenant, import_id)["accepted"], pause=0)
    os.kill(second, signal.SIGKILL)
    done = in_state(tenant, import_id, "done")

    assert (done["accepted"], done["rejected"]) == (LINES - 12, 12)
    eventually(lambda: shown(tenant, import_id)["stored"] == LINES - 12)
    assert eventually(lambda: views(tenant) == VIEWS or None, 60)
    assert tenant.grouped_counts("events", "country", **YEAR_CUSTOM) == [("AT", LINES - 12)]
    folder = uploads_folder(tenant.stack.data)
    assert not list(folder.glob(f"{import_id}.*"))
    eventually(lambda: IMPORTER not in tenant.stack.pids())

    assert ask(tenant, "DELETE", f"/{import_id}").status == 202
    assert in_state(tenant, import_id, "undone")["removed"] == LINES - 12
    assert eventually(lambda: views(tenant) == [] or None)
